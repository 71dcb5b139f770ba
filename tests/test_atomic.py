"""Files and directories appear complete or not at all, wherever the process is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce import atomic

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}


def write(path: Path, content: str) -> None:
    with atomic.directory(path) as aside:
        for name in ("one", "two"):
            (aside / name).write_text(content, "utf-8")


def read(path: Path) -> str:
    """The content that all files of a directory have."""
    found = {name: (path / name).read_text("utf-8") for name in ("one", "two")}
    assert len(set(found.values())) == 1
    return found["one"]


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def killed(work: Callable[[], None], after: int) -> bool:
    """Whether a process that does this work was killed before its `after`-th system call."""
    child = os.fork()
    if child == 0:
        calls = 0

        def count(event: str, _arguments: object) -> None:
            nonlocal calls
            if event in EVENTS:
                calls += 1
                if calls > after:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(count)
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_a_kill_at_any_step_leaves_the_old_directory_or_the_new_one(
    tmp_path, monkeypatch, exchange
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda _a, _b: False)
    path = tmp_path / "model"
    found = []
    for after in range(1000):
        write(path, "old")
        assert names(tmp_path) == ["model"]
        if not killed(lambda: write(path, "new"), after):
            break
        if exchange:
            assert path.exists()
        atomic.recover(path)
        found.append(read(path))
    assert read(path) == "new"
    assert {*found} == {"old", "new"}
    assert found == sorted(found, reverse=True), "once it is replaced it stays so"
    assert len(found) > 15


def test_a_kill_while_a_file_is_written_leaves_the_old_one_or_the_new_one(tmp_path) -> None:
    path = tmp_path / "notes.txt"

    def write_file(content: str) -> None:
        with atomic.file(path) as aside:
            aside.write_text(content, "utf-8")

    found = []
    for after in range(100):
        write_file("old")
        assert names(tmp_path) == ["notes.txt"]
        if not killed(lambda: write_file("new"), after):
            break
        found.append(path.read_text("utf-8"))
    assert {*found} == {"old", "new"}


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="no system call for it")
def test_two_directories_are_exchanged_in_one_step_here(tmp_path) -> None:
    write(tmp_path / "a", "a")
    write(tmp_path / "b", "b")
    assert atomic._exchange(tmp_path / "a", tmp_path / "b")
    assert (read(tmp_path / "a"), read(tmp_path / "b")) == ("b", "a")
    assert not atomic._exchange(tmp_path / "a", tmp_path / "none")


def test_a_failed_second_rename_undoes_the_first(tmp_path, monkeypatch) -> None:
    write(tmp_path / "model", "old")
    monkeypatch.setattr(atomic, "_exchange", lambda _a, _b: False)
    rename, calls = Path.rename, []

    def second_fails(self: Path, target: Path) -> Path:
        calls.append(self.name)
        if len(calls) == 2:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(PermissionError):
        write(tmp_path / "model", "new")
    assert len(calls) == 3
    assert read(tmp_path / "model") == "old"
    assert names(tmp_path) == ["model"]


@pytest.fixture
def ended() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_stale_temporary_files_are_removed_when_their_name_is_written(tmp_path, ended) -> None:
    here = os.getpid()
    for name in (f".model.{ended}.part", f".model.{ended}.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").touch()
    kept = [f".model.{os.getppid()}.part", f".other.{ended}.part", ".model.part", ".model.x.old"]
    for name in kept:
        (tmp_path / name).mkdir()
    write(tmp_path / "model", "new")
    assert names(tmp_path) == sorted([*kept, "model"])
    (tmp_path / f".notes.{ended}.part").touch()
    with atomic.file(tmp_path / "notes") as aside:
        assert aside.name == f".notes.{here}.part"
        aside.touch()
    assert names(tmp_path) == sorted([*kept, "model", "notes"])


def test_a_directory_renamed_away_is_restored_only_if_it_was_not_replaced(tmp_path, ended) -> None:
    write(tmp_path / f".model.{ended}.old", "old")
    atomic.recover(tmp_path / "model")
    assert read(tmp_path / "model") == "old"
    write(tmp_path / f".model.{ended}.old", "older")
    atomic.recover(tmp_path / "model")
    assert read(tmp_path / "model") == "old"
    atomic.recover(tmp_path / "nowhere" / "model")
    atomic.recover(tmp_path / "a\0b")


def test_a_symbolic_link_is_kept_and_its_target_is_replaced(tmp_path) -> None:
    write(tmp_path / "real" / "model", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "model")
    write(tmp_path / "link", "new")
    assert read(tmp_path / "real" / "model") == "new"
    assert names(tmp_path) == ["link", "real"]
    assert names(tmp_path / "real") == ["model"]


def test_a_file_is_not_replaced_by_a_directory(tmp_path) -> None:
    (tmp_path / "model").write_text("mine", "utf-8")
    with pytest.raises(NotADirectoryError):
        write(tmp_path / "model", "new")
    assert (tmp_path / "model").read_text("utf-8") == "mine"
    assert names(tmp_path) == ["model"]


def test_a_file_appears_complete_or_not_at_all(tmp_path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("old", "utf-8")

    def fail_halfway() -> None:
        with atomic.file(target) as aside:
            aside.write_text("ne", "utf-8")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_halfway()
    assert target.read_text("utf-8") == "old"
    with atomic.file(target) as aside:
        aside.write_text("new", "utf-8")
    assert target.read_text("utf-8") == "new"
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]


def test_stale_temporary_files_of_any_name_are_removed_from_a_folder(tmp_path, ended) -> None:
    write(tmp_path / f".step-1.{ended}.old", "one")
    write(tmp_path / f".step-2.{ended}.part", "two")
    (tmp_path / "step-3").mkdir()
    (tmp_path / f".step-3.{ended}.old").mkdir()
    atomic.remove_leftovers(tmp_path)
    assert names(tmp_path) == ["step-1", "step-3"]
    assert read(tmp_path / "step-1") == "one"
