"""Files and directories appear whole or not at all."""

import pytest

from transduce import atomic


def test_a_file_written_aside_appears_whole_or_not_at_all(tmp_path) -> None:
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
