"""Chooses the engine, the device and the dtype for a model, with fallback to torch."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from jaxtyping import Float

from transduce import atomic
from transduce.directory import ModelDirectory, read_json, sha256
from transduce.directory.files import verify_files
from transduce.engines import AligningEngine, Ids, Request
from transduce.errors import ModelError
from transduce.log import Log, silent
from transduce.machine import cores
from transduce.search import Hypothesis

if TYPE_CHECKING:
    from transduce.engines.ctranslate2_engine import CTranslate2Engine
    from transduce.engines.torch_engine import TorchEngine

T = TypeVar("T")

ENGINES = ("auto", "torch", "ctranslate2")
DEVICES = ("auto", "cpu", "cuda")
COMPUTE = ("auto", "int8", "float32", "float16")

STAMP = "transduce.json"  # in a converted model: the checksums of its source and its files
BITS = 7  # of its int8 weights
LONGEST = 1024  # tokens: the least maximum length of a converted model


class Router:
    """An engine that uses CTranslate2 where it supports a request, otherwise torch.

    The torch engine is opened when it is first needed, once, and thread-safe.
    """

    def __init__(
        self, directory: ModelDirectory, fast: "CTranslate2Engine | None", device: str
    ) -> None:
        self.directory, self.fast, self.device = directory, fast, device
        self.name = fast.name if fast else "torch"
        self.compute = fast.compute if fast else "float32"
        self._opening = Lock()
        self._torch: TorchEngine | None = None

    def __repr__(self) -> str:
        return f"{self.directory!r}, {self.name} {self.compute} on {self.device}"

    @property
    def torch_engine(self) -> "TorchEngine":
        """The torch engine of the same model, which also provides attention weights."""
        from transduce.engines.torch_engine import TorchEngine

        with self._opening:
            if self._torch is None:
                self._torch = TorchEngine(self.directory.network(self.device))
            return self._torch

    def unsupported(self, request: Request) -> str | None:
        """None: torch supports every request."""
        return None

    def search(self, requests: Sequence[Request], batch_size: int = 64) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each request, by CTranslate2 if it supports it."""
        fast = self.fast
        if fast is None:
            return self.torch_engine.search(requests, batch_size)
        easy = [i for i, request in enumerate(requests) if fast.unsupported(request) is None]
        found = dict(zip(easy, fast.search([requests[i] for i in easy], batch_size), strict=True))
        rest = [i for i in range(len(requests)) if i not in found]
        if rest:
            others = self.torch_engine.search([requests[i] for i in rest], batch_size)
            found |= dict(zip(rest, others, strict=True))
        return [found[i] for i in range(len(requests))]

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        return self._by_length(lambda engine: engine.score, sources, targets, batch_size)

    def alignment_weights(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[Float[np.ndarray, "target source"]]:
        """How much each target token attends to each source token."""
        return self._by_length(
            lambda engine: engine.alignment_weights, sources, targets, batch_size
        )

    def _by_length(
        self,
        method: Callable[[AligningEngine], Callable[[Sequence[Ids], Sequence[Ids], int], list[T]]],
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        batch_size: int,
    ) -> list[T]:
        """Calls a method of the fast engine, and that of torch for the pairs that are too long."""
        fast = self.fast
        if fast is None:
            return method(self.torch_engine)(sources, targets, batch_size)
        long = [
            i
            for i, pair in enumerate(zip(sources, targets, strict=True))
            if fast.too_long(max(map(len, pair)))
        ]
        short = sorted(set(range(len(sources))) - set(long))
        found: dict[int, T] = {}
        if short:
            pairs = [sources[i] for i in short], [targets[i] for i in short]
            found |= dict(zip(short, method(fast)(*pairs, batch_size), strict=True))
        for i in long:  # one at a time: attention's memory grows with the square of the length
            (found[i],) = method(self.torch_engine)([sources[i]], [targets[i]], 1)
        return [found[i] for i in range(len(sources))]


def open_engine(
    directory: ModelDirectory,
    *,
    engine: str = "auto",
    device: str = "auto",
    compute: str = "auto",
    log: Log = silent,
) -> Router:
    """The engine of a model directory; `auto` is CTranslate2 if it supports the model.

    The dtype never depends on timing: `auto` is int8 on a CPU, where 7-bit weights make integer
    products exact, and float16 on a GPU.
    """
    for value, known in ((engine, ENGINES), (device, DEVICES), (compute, COMPUTE)):
        if value not in known:
            raise ModelError(f"{value!r} is not one of {', '.join(known)}")
    if engine == "torch":
        if compute not in ("auto", "float32"):
            raise ModelError(f"the torch engine computes in float32, not {compute}")
        return Router(directory, None, torch_device(device))
    try:
        fast = open_ctranslate2(directory, device, compute, log)
    except (ImportError, ModelError, RuntimeError, ValueError) as error:
        if engine == "ctranslate2" or compute not in ("auto", "float32"):
            raise ModelError(f"CTranslate2 cannot run {directory.path}: {error}") from None
        log(f"CTranslate2 cannot run this model, using torch: {error}")
        return Router(directory, None, torch_device(device))
    return Router(directory, fast, fast.device)


def torch_device(device: str) -> str:
    """The device for torch; raises ModelError for `cuda` if there is no GPU."""
    import torch

    if device == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return "cpu"
    if not torch.cuda.is_available():
        raise ModelError("torch finds no CUDA device here: use --device cpu")
    return "cuda"


def open_ctranslate2(
    directory: ModelDirectory, device: str = "auto", compute: str = "auto", log: Log = silent
) -> "CTranslate2Engine":
    """CTranslate2 on a model directory; converts the model unless that was done before."""
    device, compute = choose_compute(device, compute)
    int8 = compute == "int8"
    converted = find_converted(directory, int8) or convert(directory, int8, log)
    return open_converted(directory, converted, compute, device)


def choose_compute(device: str = "auto", compute: str = "auto") -> tuple[str, str]:
    """The device and the dtype that CTranslate2 computes with; ModelError if it cannot."""
    import ctranslate2

    gpus = ctranslate2.get_cuda_device_count()
    if device == "cuda" and not gpus:
        raise ModelError("CTranslate2 finds no CUDA device here: use --device cpu")
    device = "cuda" if device != "cpu" and gpus else "cpu"
    supported = ctranslate2.get_supported_compute_types(device)
    if compute == "auto":
        preferred = ("int8", "float32") if device == "cpu" else ("float16", "float32")
        compute = next(one for one in preferred if one in supported)
    elif compute not in supported:
        raise ModelError(f"it does not compute in {compute} on this {device}")
    return device, compute


def how_it_runs(directory: ModelDirectory) -> dict[str, object]:
    """The engine, device and dtype that `auto` chooses for a model here; nothing is opened."""
    from transduce.engines.convert import check_ctranslate2_compatible

    try:
        directory.require_task("translation")
        check_ctranslate2_compatible(directory.config)
        device, compute = choose_compute()
    except (ImportError, ModelError) as error:
        return {"engine": "torch", "compute": "float32", "reason": str(error)}
    return {
        "engine": "ctranslate2",
        "device": device,
        "compute": compute,
        "workers": cores() if device == "cpu" else 1,
        "shortlist": directory.shortlist is not None,
        "converted": find_converted(directory, compute == "int8") is not None,
    }


def open_converted(
    directory: ModelDirectory,
    converted: Path,
    compute: str,
    device: str = "cpu",
    shortlist: bool = True,
) -> "CTranslate2Engine":
    """CTranslate2 on a converted model, with or without its shortlist."""
    from transduce.engines.ctranslate2_engine import CTranslate2Engine, Vocabularies

    return CTranslate2Engine(
        converted,
        Vocabularies.of(directory.tokenizer, directory.config),
        int(read_json(converted, STAMP)["positions"]),
        directory.shortlist if shortlist else None,
        compute,
        device,
    )


def find_converted(directory: ModelDirectory, int8: bool = True) -> Path | None:
    """The directory of the converted model, if there is one that is not stale or damaged."""
    for path in candidates(directory, int8):
        try:
            stamp = read_json(path, STAMP)
            if stamp.get("weights") == directory.fingerprint and stamp.get("bits") == (
                BITS if int8 else 32
            ):
                verify_files(path, stamp.get("files"), ["config.json", "model.bin"], STAMP)
                return path
        except ModelError:
            continue
    return None


def candidates(directory: ModelDirectory, int8: bool) -> list[Path]:
    """Where a converted model may be: in the model directory (int8 only) or the user's cache."""
    name = sha256(directory.path / "checksums.json")[:16]
    if not int8:
        return [cache() / name / "ctranslate2-float32"]
    return [directory.path / "ctranslate2", cache() / name / "ctranslate2"]


def cache() -> Path:
    """The user's cache directory."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "transduce"


def convert(directory: ModelDirectory, int8: bool = True, log: Log = silent) -> Path:
    """Converts a model for CTranslate2 into the first directory that can be written."""
    log(f"converting {directory.path.name} for CTranslate2 (once)")
    for path in candidates(directory, int8):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_converted(directory, path, int8)
            return path
        except OSError as error:
            reason = error
    raise ModelError(f"the converted model cannot be written: {reason}")


def write_converted(
    directory: ModelDirectory,
    out: Path,
    int8: bool = True,
    check: Callable[[Path], None] = lambda _: None,
    shortlists: bool = True,
) -> None:
    """Converts a model directory for CTranslate2, with or without its shortlists.

    `check` is called with the temporary directory before the rename, and may raise.
    """
    from transduce.engines.convert import write_ctranslate2
    from transduce.engines.ctranslate2_engine import Vocabularies, write_vocabulary_map

    config, shortlist = directory.config, directory.shortlist
    vocabularies = Vocabularies.of(directory.tokenizer, config)
    longest = max(LONGEST, 2 * directory.description.max_length)
    if config.positions == "learned":
        longest = config.max_positions
    with atomic.directory(out) as aside:
        vocabulary_map = None
        if shortlists and shortlist is not None:
            vocabulary_map = aside / "map.txt"
            write_vocabulary_map(shortlist, vocabularies.target, vocabulary_map)
        write_ctranslate2(
            config,
            directory.weights(),
            aside,
            vocabularies.source,
            vocabularies.target,
            longest,
            vocabulary_map,
            int8,
        )
        if vocabulary_map is not None:
            vocabulary_map.unlink()
        stamp = {
            "weights": directory.fingerprint,
            "bits": BITS if int8 else 32,
            "positions": longest,
            "files": {file.name: sha256(file) for file in sorted(aside.iterdir())},
        }
        (aside / STAMP).write_text(json.dumps(stamp, indent=2) + "\n", "utf-8")
        check(aside)
