"""Which engine runs a model directory, and where the fast one is kept."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.config import ModelConfig
from transduce.directory import ModelDirectory, read_json, sha256
from transduce.directory.files import verify_files
from transduce.engines import Engine
from transduce.errors import ModelError
from transduce.log import Log
from transduce.machine import cores, cpu, keep_memory
from transduce.search import Search
from transduce.tokenizer import TokenizerLike

KINDS = ("auto", "torch", "ctranslate2")
FAST = "ctranslate2"  # the directory of the fast engine, inside a model directory
STAMP = "transduce.json"  # what it was made from
POSITIONS = 1024  # the longest sequence, at least


def open_engine(directory: ModelDirectory, kind: str = "auto", log: Log = lambda _: None) -> Engine:
    """The engine of a model directory; `auto` is the fast one where it can run, else torch."""
    if kind not in KINDS:
        raise ModelError(f"no engine {kind!r}: choose one of {', '.join(KINDS)}")
    if kind == "torch":
        return open_reference(directory)
    try:
        return open_fast(directory, log)
    except (ImportError, ModelError, RuntimeError, ValueError) as error:
        if kind == "ctranslate2":
            raise ModelError(f"the fast engine cannot run {directory.path}: {error}") from None
        log(f"the fast engine cannot run this model, torch does: {error}")
        return open_reference(directory)


def open_reference(directory: ModelDirectory) -> Engine:
    import torch

    from transduce.engines.torch_engine import TorchEngine

    keep_memory()
    if "ctranslate2" in sys.modules and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(cores())  # the fast engine has set its own number for the process
    return TorchEngine(directory.network())


def open_fast(directory: ModelDirectory, log: Log = lambda _: None) -> Engine:
    """CTranslate2 on a model directory; converts the model if that was not done before."""
    import ctranslate2

    ctranslate2.set_log_level(40)  # errors; what the library thinks of the machine is no news
    fast = fast_directory(directory) or convert(directory, log)
    return run_fast(directory, fast, best_setting(directory, fast))


def best_setting(directory: ModelDirectory, fast: Path) -> Any:
    """How this model is best run on this machine: measured once, and remembered for the user."""
    from transduce.engines.ctranslate2_engine import Setting

    what = f"{machine_name()}, {read_json(fast, STAMP)['weights']}"
    file = cache() / "settings" / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
    try:
        return Setting(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        setting = fastest(lambda setting: run_fast(directory, fast, setting))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(file) as aside:
            aside.write_text(json.dumps(vars(setting)) + "\n", "utf-8")
    except OSError:
        pass  # measured again the next time
    return setting


def run_fast(directory: ModelDirectory, fast: Path, setting: Any, shortlist: bool = True) -> Any:
    """CTranslate2 with what was converted, in this setting, with or without a shortlist."""
    from transduce.engines.ctranslate2_engine import CTranslate2Engine

    return CTranslate2Engine(
        fast,
        vocabularies_of(directory.tokenizer, directory.config),
        int(read_json(fast, STAMP)["positions"]),
        directory.shortlist if shortlist else None,
        setting,
        lambda: open_reference(directory),
    )


def fast_directory(directory: ModelDirectory) -> Path | None:
    """Where the fast engine of this very model is, if it was made before and is whole."""
    for place in places(directory):
        try:
            stamp = read_json(place, STAMP)
            if stamp.get("weights") == directory.fingerprint:
                verify_files(place, stamp.get("files"), ["config.json", "model.bin"], STAMP)
                return place
        except ModelError:
            continue
    return None


def places(directory: ModelDirectory) -> list[Path]:
    """Inside the model directory, or, where one may not write there, in the user's cache."""
    name = sha256(directory.path / "checksums.json")[:16]
    return [directory.path / FAST, cache() / name / FAST]


def cache() -> Path:
    """What may be lost: it is made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "transduce"


def convert(directory: ModelDirectory, log: Log = lambda _: None) -> Path:
    """Makes the fast engine of a model directory, and keeps it in the first place it may."""
    log(f"preparing the fast engine of {directory.path.name}, this once")
    for place in places(directory):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_fast(directory, place)
            return place
        except OSError as error:
            reason = error
    raise ModelError(f"the fast engine cannot be written: {reason}")


def write_fast(
    directory: ModelDirectory, out: Path, check: Callable[[Path], None] = lambda _: None
) -> None:
    """Writes the CTranslate2 form of a model directory, with its shortlist.

    `check` looks at what was written before it gets its name, and may refuse it.
    """
    from transduce.engines.convert import write_ctranslate2
    from transduce.engines.ctranslate2_engine import write_levels
    from transduce.model import require_transformer

    config, shortlist = directory.config, directory.shortlist
    vocabularies = vocabularies_of(directory.tokenizer, config)
    positions = max(POSITIONS, 2 * directory.description.max_length)
    if config.positions == "learned":
        positions = config.max_positions
    with atomic.directory(out) as aside:
        levels = None
        if shortlist is not None:
            levels = aside / "levels.txt"
            write_levels(shortlist, vocabularies.target, levels)
        write_ctranslate2(
            require_transformer(directory.network(), "CTranslate2"),
            aside,
            vocabularies.source,
            vocabularies.target,
            positions,
            levels,
            "int8" if directory.description.dtype == "int8" else None,
        )
        if levels is not None:
            levels.unlink()
        files = {file.name: sha256(file) for file in sorted(aside.iterdir())}
        stamp = {"weights": directory.fingerprint, "positions": positions, "files": files}
        (aside / STAMP).write_text(json.dumps(stamp, indent=2) + "\n", "utf-8")
        check(aside)


def vocabularies_of(tokens: TokenizerLike, config: ModelConfig) -> Any:
    """The strings that stand for the tokens; none has a space, none is there twice."""
    from transduce.engines.ctranslate2_engine import Vocabularies

    source, target = (
        [
            f"<{i}>" if any(c.isspace() for c in token) else token
            for i, token in enumerate(vocabulary)
        ]
        for vocabulary in (tokens.vocabulary, tokens.target_vocabulary)
    )
    return Vocabularies(source, target, target[config.eos_id])


def fastest(opened: Callable[[Any], Any]) -> Any:
    """The setting in which a few made-up sentences are translated soonest, here and now."""
    from transduce.engines.ctranslate2_engine import Setting

    count = cores()
    shapes = {(count, 1), (1, count)}
    settings = [Setting(kind, *shape) for kind in ("int8", "float32") for shape in sorted(shapes)]
    search = Search(extra_length=0)

    def seconds(setting: Setting) -> float:
        engine = opened(setting)
        size = len(engine.vocabularies.source)
        sources = [
            [(17 * i + 31 * k) % (size - 4) + 4 for k in range(12)] for i in range(4 * count)
        ]
        engine.search(sources[:count], search, batch_size=1)
        start = time.perf_counter()
        engine.search(sources, search, batch_size=4)
        return time.perf_counter() - start

    return min(settings, key=seconds)


def machine_name() -> str:
    """What a measurement of speed holds for."""
    return f"{cpu()}, {cores()} cores"
