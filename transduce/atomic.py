"""Files appear whole or not at all: written beside their place, flushed to the disk, then renamed.

What is being written is called `.NAME.PID.part`. Where the system cannot exchange two directories,
the one that is replaced is called `.NAME.PID.old` for a moment, and `recover` puts it back if the
process ended in that moment.
"""

import ctypes
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

AT_FDCWD = -100  # of Linux: paths are relative to the working directory
EXCHANGE = 2  # RENAME_EXCHANGE of Linux's renameat2, and RENAME_SWAP of macOS's renamex_np


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends well and is removed when not."""
    remove_leftovers(path.parent, path.name)
    aside = _beside(path, "part")
    try:
        yield aside
        flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    flush(path.parent)


@contextmanager
def directory(path: Path) -> Iterator[Path]:
    """The same for a directory; an existing one is replaced as a whole, and never missing."""
    path = Path(os.path.realpath(path))  # a link stays, and what it points to is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    aside = _beside(path, "part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield aside
        readable = stat.S_IMODE(aside.stat().st_mode) & 0o666
        for item in aside.rglob("*"):
            if item.is_file():
                item.chmod(readable)  # some writers leave a file to its owner alone
            flush(item)
        flush(aside)
        _replace(path, aside)
        flush(path.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def recover(path: Path) -> None:
    """Puts back a directory that a process was replacing when it ended."""
    if not path.exists():
        remove_leftovers(path.parent, path.name)


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Removes what processes that ended left of writing this name, or any, into a folder.

    A replaced directory that nothing took the place of is put back.
    """
    for left in _leftovers(folder, name):
        path = folder / left.name[1:].rsplit(".", 2)[0]
        with suppress(OSError):  # another process was quicker, or nothing may be written here
            if left.suffix == ".old" and not path.exists():
                left.rename(path)
            elif left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def flush(path: Path) -> None:
    """Waits until the disk has it: a rename can otherwise outlive what it renames."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{what}")


def _leftovers(folder: Path, name: str | None) -> list[Path]:
    """The parts and replaced directories of processes that have ended."""
    pattern = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.(\d+)\.(?:part|old)")
    with suppress(OSError, ValueError):  # no such folder, or no name that a system takes
        return [
            item
            for item in sorted(folder.iterdir())
            if (match := pattern.fullmatch(item.name)) and not _runs(int(match[1]))
        ]
    return []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # another user's, or no number that a process can have
    return True


def _replace(path: Path, new: Path) -> None:
    """Gives the new directory its name; `new` is then the old one, or gone."""
    if not path.exists():
        new.rename(path)
        return
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is a file, not a directory")
    if _exchange(new, path):
        return
    old = _beside(path, "old")
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Exchanges two names in one step; False where the system or the file system cannot."""
    libc = ctypes.CDLL(None)
    names = os.fsencode(a), os.fsencode(b)
    if hasattr(libc, "renameat2"):
        return bool(libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) == 0)
    if hasattr(libc, "renamex_np"):
        return bool(libc.renamex_np(*names, EXCHANGE) == 0)
    return False
