"""Atomic writes: to a temporary name in the same directory, fsync, then rename.

The temporary name is `.NAME.PID.part`. On systems that cannot exchange two directories atomically,
the old one is renamed to `.NAME.PID.old` for a moment, and `recover` restores it if the process
was killed in that moment.
"""

import ctypes
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

AT_FDCWD = -100  # Linux: paths are relative to the working directory
EXCHANGE = 2  # RENAME_EXCHANGE of Linux's renameat2, and RENAME_SWAP of macOS's renamex_np


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """A temporary path; renamed to `path` at the end of the block, removed if it raises."""
    remove_leftovers(path.parent, path.name)
    aside = _temporary(path, "part")
    try:
        yield aside
        flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    flush(path.parent)


@contextmanager
def directory(path: Path) -> Iterator[Path]:
    """The same for a directory; an existing one is replaced atomically."""
    path = Path(os.path.realpath(path))  # replace what a symbolic link points to, not the link
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    aside = _temporary(path, "part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield aside
        readable = stat.S_IMODE(aside.stat().st_mode) & 0o666
        for item in aside.rglob("*"):
            if item.is_file():
                item.chmod(readable)  # some writers make files readable by their owner only
            flush(item)
        flush(aside)
        _replace(path, aside)
        flush(path.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def recover(path: Path) -> None:
    """Restores a directory whose replacement was interrupted."""
    if not path.exists():
        remove_leftovers(path.parent, path.name)


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Removes stale temporary files of dead processes, for one name or for all in a folder.

    A directory that was renamed away but not replaced is restored.
    """
    for left in _leftovers(folder, name):
        path = folder / left.name[1:].rsplit(".", 2)[0]
        with suppress(OSError):  # another process was faster, or the folder is read-only
            if left.suffix == ".old" and not path.exists():
                left.rename(path)
            elif left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def flush(path: Path) -> None:
    """fsync: without it a rename may reach the disk before the content."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path, suffix: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{suffix}")


def _leftovers(folder: Path, name: str | None) -> list[Path]:
    """The temporary files and directories of dead processes."""
    pattern = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.(\d+)\.(?:part|old)")
    with suppress(OSError, ValueError):  # no such folder, or an invalid name
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
        pass  # another user's process, or not a valid process id
    return True


def _replace(path: Path, new: Path) -> None:
    """Renames `new` to `path`; afterwards `new` is the old directory or does not exist."""
    if not path.exists():
        new.rename(path)
        return
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is a file, not a directory")
    if _exchange(new, path):
        return
    old = _temporary(path, "old")
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Exchanges two paths atomically; False if the file system does not support it."""
    libc = ctypes.CDLL(None)
    names = os.fsencode(a), os.fsencode(b)
    if hasattr(libc, "renameat2"):
        return bool(libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) == 0)
    if hasattr(libc, "renamex_np"):
        return bool(libc.renamex_np(*names, EXCHANGE) == 0)
    return False
