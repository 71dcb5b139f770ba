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
from transduce.directory import read_description, read_json, sha256, verify_checksums
from transduce.engines import Engine
from transduce.errors import ModelError
from transduce.log import Log
from transduce.machine import cores, cpu, keep_memory
from transduce.search import Search
from transduce.shortlist import load_shortlist
from transduce.tokenizer import TokenizerLike, load_tokenizer

KINDS = ("auto", "torch", "ctranslate2")
FAST = "ctranslate2"  # the directory of the fast engine, inside a model directory
STAMP = "transduce.json"  # what it was made from
POSITIONS = 1024  # the longest sequence, at least


def open_engine(directory: Path, kind: str = "auto", log: Log = lambda _: None) -> Engine:
    """The engine of a model directory; `auto` is the fast one where it can run, else torch."""
    if kind not in KINDS:
        raise ModelError(f"no engine {kind!r}: choose one of {', '.join(KINDS)}")
    if kind == "torch":
        return open_reference(directory)
    try:
        return open_fast(directory, log)
    except (ImportError, ModelError, RuntimeError, ValueError) as error:
        read_description(directory)  # what is wrong with the model itself is said as it is
        verify_checksums(directory)
        if kind == "ctranslate2":
            raise ModelError(f"the fast engine cannot run {directory}: {error}") from None
        log(f"the fast engine cannot run this model, torch does: {error}")
        return open_reference(directory)


def open_reference(directory: Path) -> Engine:
    import torch

    from transduce.checkpoint import load_model
    from transduce.engines.torch_engine import TorchEngine

    keep_memory()
    if "ctranslate2" in sys.modules and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(cores())  # the fast engine has set its own number for the process
    return TorchEngine(load_model(directory).model)


def open_fast(directory: Path, log: Log = lambda _: None) -> Engine:
    """CTranslate2 on a model directory; converts the model if that was not done before."""
    import ctranslate2

    ctranslate2.set_log_level(40)  # errors; what the library thinks of the machine is no news
    fast = fast_directory(directory) or convert(directory, log)
    return run_fast(directory, fast, best_setting(directory, fast))


def best_setting(directory: Path, fast: Path) -> Any:
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


def run_fast(directory: Path, fast: Path, setting: Any, shortlist: bool = True) -> Any:
    """CTranslate2 with what was converted, in this setting, with or without a shortlist."""
    from transduce.engines.ctranslate2_engine import CTranslate2Engine

    tokens, description = load_tokenizer(directory), read_description(directory)
    return CTranslate2Engine(
        fast,
        vocabularies_of(tokens, ModelConfig(**description["model"])),
        int(read_json(fast, STAMP)["positions"]),
        load_shortlist(directory) if shortlist else None,
        setting,
        lambda: open_reference(directory),
    )


def fast_directory(directory: Path) -> Path | None:
    """Where the fast engine of this very model is, if it was made before and is whole."""
    weights = read_json(directory, "checksums.json").get("model.safetensors")
    for place in places(directory):
        try:
            stamp = read_json(place, STAMP)
            if stamp["weights"] == weights and all(
                sha256(place / name) == expected for name, expected in stamp["files"].items()
            ):
                return place
        except (ModelError, OSError, KeyError):
            continue
    return None


def places(directory: Path) -> list[Path]:
    """Inside the model directory, or, where one may not write there, in the user's cache."""
    checksums = directory / "checksums.json"
    name = sha256(checksums)[:16] if checksums.is_file() else "unknown"
    return [directory / FAST, cache() / name / FAST]


def cache() -> Path:
    """What may be lost: it is made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "transduce"


def convert(directory: Path, log: Log = lambda _: None) -> Path:
    """Makes the fast engine of a model directory, and keeps it in the first place it may."""
    log(f"preparing the fast engine of {directory.name}, this once")
    for place in places(directory):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_fast(directory, place)
            return place
        except OSError as error:
            reason = error
    raise ModelError(f"the fast engine cannot be written: {reason}")


def write_fast(directory: Path, out: Path, check: Callable[[Path], None] = lambda _: None) -> None:
    """Writes the CTranslate2 form of a model directory, with its shortlist.

    `check` looks at what was written before it gets its name, and may refuse it.
    """
    from transduce.checkpoint import load_model
    from transduce.engines.convert import write_ctranslate2
    from transduce.engines.ctranslate2_engine import write_levels

    loaded = load_model(directory)
    tokens, shortlist = load_tokenizer(directory), load_shortlist(directory)
    vocabularies = vocabularies_of(tokens, loaded.model.config)
    positions = max(POSITIONS, 2 * int(loaded.description.get("max_length", 0)))
    if loaded.model.config.positions == "learned":
        positions = loaded.model.config.max_positions
    with atomic.directory(out) as aside:
        levels = None
        if shortlist is not None:
            levels = aside / "levels.txt"
            write_levels(shortlist, vocabularies.target, levels)
        write_ctranslate2(
            loaded.model,
            aside,
            vocabularies.source,
            vocabularies.target,
            positions,
            levels,
            "int8" if loaded.description.get("stored") == "int8" else None,
        )
        if levels is not None:
            levels.unlink()
        weights = read_json(directory, "checksums.json").get("model.safetensors")
        files = {file.name: sha256(file) for file in sorted(aside.iterdir())}
        stamp = {"weights": weights, "positions": positions, "files": files}
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
