"""The output file of a translation: written aside, resumable, renamed when it is complete."""

import fcntl
import gzip
import hashlib
import json
import lzma
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

from transduce import atomic
from transduce.corpus.reading import TextFile
from transduce.errors import InputError

T = TypeVar("T")
Mode = Literal["continue", "resume", "restart"]

COMPARED = 8  # last lines of an output without a record, which are made again and compared


@dataclass(frozen=True)
class Record:
    """What FILE.partial was begun with and how far it is, kept in FILE.partial.json."""

    settings: Mapping[str, str]  # by option, also "model" and "engine"
    inputs: int = 0  # whose output is written
    size: int = 0  # bytes of their output
    digest: str = ""  # of these inputs


class OutputFile:
    """An output file, written as FILE.partial and renamed when it is complete.

    An incomplete FILE.partial is continued if it was begun with the same settings and inputs,
    otherwise InputError is raised; the mode "restart" begins anew. "resume" also continues a
    complete FILE and a FILE.partial without a record, where a line is the output of an input.
    `done` is the number of inputs whose output is there, and `skip` skips them. A name that ends
    in .gz or .xz is compressed at the end. Devices and pipes are written to directly. FILE.partial
    is locked: raises InputError if another process is writing it.
    """

    def __init__(
        self, file: Path, mode: Mode = "continue", settings: Mapping[str, str] | None = None
    ) -> None:
        self.file = file
        self.done = 0
        self.last: deque[str] = deque(maxlen=COMPARED)  # lines, if there is no record
        self._mode, self._settings = mode, dict(settings or {})
        self._target = Path(os.path.realpath(file))  # a symbolic link is kept
        self.partial = self._target.with_name(f"{self._target.name}.partial")
        self._record_file = self._target.with_name(f"{self._target.name}.partial.json")
        self._digest = hashlib.blake2b(digest_size=16)
        self._expected: str | None = None  # digest of the inputs that are done
        self._compressed = _COMPRESSED.get(self._target.suffix.lower())
        self._direct = False
        self._kept = 0  # inputs done before
        self._taken = False  # FILE.partial has the content of the complete FILE
        self._untouched = True  # nothing was written yet

    def __enter__(self) -> "OutputFile":
        with self._writing():
            self._stream = self._opened()
        self._kept = self.done
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._writing(), closing(self._stream):
            if self._direct:
                return
            # the lock is held until after the rename, so that no other process takes the file
            if error is None:
                self._stream.truncate()
                self._complete()
            elif self._untouched and self._taken and not self._compressed:
                self.partial.replace(self._target)
            elif self._untouched and (self._taken or not self._kept):
                self.partial.unlink()  # nothing to resume
                self._record_file.unlink(missing_ok=True)

    def write(self, line: str) -> None:
        """Writes a line and flushes it."""
        assert "\n" not in line
        with self._writing():
            if self._untouched and not self._direct:
                self._stream.truncate()  # remove an incomplete last line
            self._untouched = False
            self._stream.write(f"{line}\n".encode("utf-8", "replace"))
            self._stream.flush()

    def finish(self, inputs: Iterable[object]) -> None:
        """Records that the output of these inputs is written, so that it is not made again."""
        for one in inputs:
            self._count(one)
        if not self._direct:
            with self._writing():
                self._save(Record(self._settings, self.done, self._stream.tell(), self._hash()))

    def skip(self, inputs: Iterator[T]) -> list[T]:
        """Skips the inputs whose output is there; raises InputError if they are others.

        Returns those of `last`, to be compared: without a record it is not known what they were.
        """
        kept: deque[T] = deque(maxlen=len(self.last))
        wanted, self.done = self.done, 0
        for one in inputs if wanted else ():
            self._count(one)
            kept.append(one)
            if self.done == wanted:
                break
        if self.done < wanted:
            raise InputError(
                f"{self.file} has the output of {wanted:,} inputs already but the input has only "
                f"{self.done:,}: repeat the command with the same input, or add --restart"
            )
        if self._expected not in (None, self._hash()):
            some = "line is" if wanted == 1 else f"{wanted:,} lines are"
            raise self._other(f"another input, whose first {some} not the same")
        return list(kept)

    def compare(self, lines: Sequence[str]) -> None:
        """Raises InputError unless these are the last lines of an output without a record."""
        if lines != list(self.last):
            raise InputError(
                f"the last lines of {self.file} are not what this command makes of the same lines "
                "of the input: repeat the command that made them, or add --restart"
            )

    def _other(self, what: str) -> InputError:
        return InputError(
            f"{self.partial.name} was begun with {what}: "
            "repeat the same command to continue it, or add --restart to begin anew"
        )

    def _count(self, one: object) -> None:
        self._digest.update(json.dumps(one, sort_keys=True).encode() + b"\n")
        self.done += 1

    def _hash(self) -> str:
        return self._digest.hexdigest()

    def _opened(self) -> BinaryIO:
        """The file to write to, positioned after the output that is done."""
        if self.file.is_dir():
            raise InputError(f"{self.file} is a directory: give a file")
        self._direct = self.file.exists() and not self.file.is_file()
        if self._direct:
            if self._mode == "resume":
                raise InputError(f"{self.file} is not an ordinary file: it cannot be resumed")
            return self.file.open("wb")
        if not self._target.parent.is_dir():
            raise InputError(f"there is no directory {self.file.parent}: create it first")
        new = not self.partial.exists()
        stream = self._locked()
        if new or self._mode == "restart":
            self._record_file.unlink(missing_ok=True)
        if self._mode == "restart":
            stream.truncate()
        elif self._mode == "resume" and new and self._target.exists():
            stream = self._take(stream)
        try:
            stream.seek(self._continued(stream))
        except InputError:
            stream.close()
            raise
        return stream

    def _take(self, stream: BinaryIO) -> BinaryIO:
        """FILE.partial with the content of the complete FILE."""
        self._taken = True
        if self._compressed:
            with TextFile(self._target) as whole, whole.reading():
                shutil.copyfileobj(whole.stream, stream)
            stream.seek(0)
            return stream
        self._target.replace(self.partial)
        stream.close()
        return self._locked()

    def _continued(self, stream: BinaryIO) -> int:
        """Sets `done`; returns the number of bytes to keep."""
        length = os.fstat(stream.fileno()).st_size
        record = self._recorded()
        if record and record.size <= length:
            if record.inputs:
                self._check(record.settings)
            self.done, self._expected = record.inputs, record.digest or None
            return record.size
        if length and self._mode == "continue":
            raise InputError(
                f"{self.partial.name} has no record of what it was begun with: "
                "add --resume to continue it or --restart to begin anew"
            )
        size = 0
        for line in stream:
            if line.endswith(b"\n"):
                self.done += 1
                self.last.append(line[:-1].decode("utf-8", "replace"))
                size += len(line)
        return size

    def _recorded(self) -> Record | None:
        try:
            return Record(**json.loads(self._record_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _check(self, begun: Mapping[str, str]) -> None:
        """Raises InputError that names the first setting that differs."""
        for name in {**begun, **self._settings}:
            old, new = begun.get(name, ""), self._settings.get(name, "")
            if old != new:
                known = name.startswith("--")
                raise self._other(f"{name} {old}, not {new}" if known else f"another {name}")

    def _save(self, record: Record) -> None:
        aside = self._record_file.with_name(f".{self._record_file.name}.part")
        aside.write_text(json.dumps(asdict(record)) + "\n", "utf-8")
        aside.replace(self._record_file)

    def _complete(self) -> None:
        """Gives the output its name."""
        os.fsync(self._stream.fileno())
        if self._compressed:
            self._stream.seek(0)
            with atomic.file(self._target) as aside, self._compressed(aside) as compressed:
                shutil.copyfileobj(self._stream, compressed)
            self.partial.unlink()
        else:
            self.partial.replace(self._target)
        self._record_file.unlink(missing_ok=True)
        atomic.flush(self._target.parent)

    def _locked(self) -> BinaryIO:
        """Opens and locks FILE.partial."""
        while True:
            stream = os.fdopen(os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666), "rb+")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(stream.fileno()), self.partial.stat()):
                    return stream
            except BlockingIOError:
                stream.close()
                raise InputError(
                    f"{self.file} is being written by another process: "
                    "wait until it ends, or name another output"
                ) from None
            except FileNotFoundError:
                pass
            stream.close()  # another process has just renamed it: create a new one

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise  # the reader, such as `head`, has closed the pipe: not an error
        except OSError as error:
            raise InputError(f"{self.file} cannot be written: {error.strerror}") from None


@contextmanager
def _gzip(file: Path) -> Iterator[BufferedIOBase]:
    """Without name and time of the file, so that equal outputs are equal files."""
    with file.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
        yield stream


def _xz(file: Path) -> BufferedIOBase:
    return lzma.LZMAFile(file, "wb")


@contextmanager
def compressed_file(named: Path, file: Path) -> Iterator[BufferedIOBase | BinaryIO]:
    """Opens `file` for writing, compressed if that is what the name of the other one says."""
    opened = _COMPRESSED.get(named.suffix.lower())
    with opened(file) if opened else file.open("wb") as stream:
        yield stream


_COMPRESSED: dict[str, Callable[[Path], AbstractContextManager[BufferedIOBase]]]
_COMPRESSED = {".gz": _gzip, ".xz": _xz}
