"""Files appear whole or not at all: written aside, flushed to the disk, then renamed."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends well and vanishes when not."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield aside
        flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    flush(path.parent)


@contextmanager
def directory(path: Path) -> Iterator[Path]:
    """The same for a directory; one that stands at `path` is replaced as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    replaced = path.with_name(f".{path.name}.{os.getpid()}.old")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield aside
        readable = stat.S_IMODE(aside.stat().st_mode) & 0o666
        for item in aside.rglob("*"):
            if item.is_file():
                item.chmod(readable)  # some writers leave a file to its owner alone
            flush(item)
        if path.exists():
            path.rename(replaced)
        aside.rename(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
    flush(path.parent)


def flush(path: Path) -> None:
    """Waits until the disk has it: a rename can otherwise outlive what it renames."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
