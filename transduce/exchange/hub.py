"""Checkpoints of the Hugging Face hub: fetched once on request, kept as model directories."""

import fcntl
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.directory import read_json
from transduce.engines.router import cache
from transduce.errors import ModelError
from transduce.log import Log, silent

PREFIX = "hf:"
NEWEST = "main"
LARGE = 10_000_000  # bytes of a file with a progress bar
CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that exists
VOCABULARY = ("source.spm", "target.spm", "vocab.json")
OPTIONAL = ("target_vocab.json", "tokenizer_config.json", "generation_config.json")

_NAME = re.compile(r"hf:([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w-][\w./-]*))?")


@dataclass(frozen=True)
class Checkpoint:
    """A repository of the hub at a revision."""

    repository: str
    revision: str

    def __str__(self) -> str:
        at = "" if self.revision == NEWEST else f"@{self.revision}"
        return f"{PREFIX}{self.repository}{at}"

    @property
    def path(self) -> Path:
        """Its model directory in the user's cache."""
        return cache() / "hub" / f"{self.repository}@{self.revision.replace('/', '--')}"


def parse(name: str) -> Checkpoint:
    """The checkpoint that `hf:ORG/NAME[@REVISION]` names."""
    found = _NAME.fullmatch(name)
    if found is None or ".." in name:
        raise ModelError(f"{name} is not {PREFIX}ORG/NAME or {PREFIX}ORG/NAME@REVISION")
    return Checkpoint(found[1], found[2] or NEWEST)


def fetch(name: str, log: Log = silent) -> Path:
    """The model directory of a checkpoint; without a request if it was fetched before."""
    checkpoint = parse(name)
    path = checkpoint.path
    atomic.recover(path)
    if path.is_dir():
        return path
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # it requests nothing else then
    import huggingface_hub  # noqa: F401 # before torch: its extra installs both

    from transduce.exchange.imported import import_checkpoint

    download = path.with_name(f"{path.name}.download")  # keeps complete files
    with _locked(path.with_name(f".{path.name}.lock")):
        if not path.is_dir():
            with _sentences(checkpoint):
                origin = _download(checkpoint, download, log)
            import_checkpoint("huggingface", download, path, log, origin)
        shutil.rmtree(download, ignore_errors=True)
    return path


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Waits while another process fetches the same; the system releases the lock at its end."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _download(checkpoint: Checkpoint, folder: Path, log: Log) -> str:
    """Downloads the files that are needed; returns where they are from."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.logging import set_verbosity_error

    set_verbosity_error()
    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="transduce")
    info = hub.model_info(checkpoint.repository, revision=checkpoint.revision)
    names = {file.rfilename for file in info.siblings or []}
    if CONFIG not in names:
        raise ModelError(f"{checkpoint} is not a Marian model: it has no {CONFIG}")
    revision = info.sha or checkpoint.revision
    fetch_file = partial(
        hub.hf_hub_download,
        checkpoint.repository,
        revision=revision,
        local_dir=folder,
        tqdm_class=_progress_bar(),
    )
    fetch_file(CONFIG)
    kind = read_json(folder, CONFIG).get("model_type")
    if kind != "marian":
        raise ModelError(
            f"{checkpoint} has a model of type {kind!r}: only marian models, such as those of "
            "Helsinki-NLP, can be used"
        )
    weights = next((name for name in WEIGHTS if name in names), None)
    missing = [name for name in VOCABULARY if name not in names]
    if weights is None or missing:
        what = missing[0] if weights else " or ".join(WEIGHTS)
        raise ModelError(f"{checkpoint} is incomplete: it has no {what}")
    log(f"fetching {checkpoint} (once)")
    for name in (*VOCABULARY, *(name for name in OPTIONAL if name in names), weights):
        fetch_file(name)
    licence = info.card_data.get("license") if info.card_data else None
    return f"{PREFIX}{checkpoint.repository}, commit {revision}, licence: {licence or 'not stated'}"


def _progress_bar() -> Any:
    """A progress bar for large files, with their name only, on a terminal."""
    from tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *, desc: str, total: int | None = None, **options: Any) -> None:
            options.pop("name", None)
            hidden = not sys.stderr.isatty() or (total or 0) < LARGE
            options |= {"leave": False, "disable": hidden}
            super().__init__(desc=desc.rsplit("/", 1)[-1], total=total, **options)

    return Bar


@contextmanager
def _sentences(checkpoint: Checkpoint) -> Iterator[None]:
    """Errors of the hub and of the network as one sentence each."""
    try:
        yield
    except (ModelError, ModuleNotFoundError):
        raise
    except Exception as error:
        raise _explained(error, checkpoint) from None


def _explained(error: Exception, checkpoint: Checkpoint) -> Exception:
    from huggingface_hub import errors

    reason = (str(error).splitlines() or [type(error).__name__])[0]
    again = "the same command continues with the files that are missing"
    match error:
        case errors.GatedRepoError():
            return ModelError(
                f"{checkpoint} is gated: accept its conditions on the hub, then log in with "
                "`hf auth login`"
            )
        case errors.RepositoryNotFoundError():
            return ModelError(
                f"the hub has no {checkpoint}, or it is private: check the name, or log in with "
                "`hf auth login`"
            )
        case errors.RevisionNotFoundError():
            return ModelError(
                f"{PREFIX}{checkpoint.repository} has no revision {checkpoint.revision}"
            )
        case errors.OfflineModeIsEnabled():
            return ModelError(f"{checkpoint} was not fetched before, and HF_HUB_OFFLINE is set")
        case errors.HfHubHTTPError() if error.response is not None:
            status = error.response.status_code
            return ModelError(f"{checkpoint} was not fetched: the hub answers {status}; {again}")
        case OSError() if error.errno is not None:
            return error  # of the disk
        case errors.HTTPError() | errors.LocalEntryNotFoundError():  # type: ignore[attr-defined]
            return ModelError(
                f"{checkpoint} was not fetched: the hub cannot be reached ({reason}); {again}"
            )
        case OSError():
            return ModelError(f"{checkpoint} was not fetched completely ({reason}); {again}")
    return error
