"""Reading and writing Hugging Face `MarianMTModel` directories (Marian, OPUS-MT)."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.config import ModelConfig
from transduce.directory import read_json
from transduce.directory.model import WEIGHTS, check_vocabulary
from transduce.directory.network import load_weights
from transduce.directory.weights import check_shapes
from transduce.errors import ConfigError, ModelError
from transduce.exchange.huggingface_comparison import SEARCHES, SENTENCES, compare
from transduce.exchange.marian import (
    FORBIDDEN,
    MAX_LENGTH,
    check_marian_compatible,
    config_for_marian,
    config_from_marian,
    from_marian,
    special_ids,
    to_marian,
)
from transduce.exchange.note import huggingface_note, write_note
from transduce.model import Transformer
from transduce.positions import sinusoids
from transduce.shapes import parameter_shapes
from transduce.tokenizer import MarianTokenizer, Tokenizer, TokenizerLike
from transduce.tokenizer.marian import (
    END,
    PADDING,
    SOURCE,
    TARGET,
    TARGET_VOCABULARY,
    UNKNOWN,
    VOCABULARY,
)

PICKLED = "pytorch_model.bin"
SAFE_TORCH = "2.6"  # earlier versions could be made to run code by a file of weights

LANGUAGES = {"source_language": "source_lang", "target_language": "target_lang"}


def read_huggingface(directory: Path) -> Transformer:
    """The network of a Marian directory, with its weights."""
    settings = read_json(directory, "config.json")
    if settings.get("model_type") != "marian":
        raise ModelError(
            f"{directory} has a model of type {settings.get('model_type')!r}; "
            "only Hugging Face's marian models can be imported"
        )
    try:
        config = config_from_marian(settings, directory)
    except (ConfigError, TypeError, ValueError) as error:
        raise ModelError(
            f"{directory / 'config.json'} is not a Marian configuration: {error}"
        ) from None
    theirs = _read_weights(directory)
    _check_positions(theirs, config, directory)
    bias = theirs.get("final_logits_bias", torch.zeros(config.decoder_vocab_size)).float().flatten()
    theirs["final_logits_bias"] = bias
    # Hugging Face added a padding symbol to Marian's vocabulary, which would often be the most
    # probable token, and excludes it from search. A large negative bias does the same.
    bias[_forbidden(directory, settings, len(bias))] = FORBIDDEN
    if not bias.any():
        config = config.replace(output_bias=False)
    shapes = parameter_shapes(config)
    try:
        weights = {
            name: from_marian(name, lambda keys: _take(theirs, keys, directory)) for name in shapes
        }
    except RuntimeError as error:  # inconsistent shapes
        raise ModelError(f"{directory}: the weights cannot be read: {error}") from None
    check_shapes({name: weight.shape for name, weight in weights.items()}, shapes, directory)
    model = Transformer(config)
    load_weights(model, weights, directory)
    return model.eval()


def read_tokenizer(directory: Path, config: ModelConfig) -> MarianTokenizer:
    """The tokenizer of a Marian directory; raises ModelError if it does not fit the network."""
    tokenizer = MarianTokenizer.load(directory)
    check_vocabulary(tokenizer, config, directory)
    sides = tokenizer.vocabulary, tokenizer.target_vocabulary
    for name, number, side in (
        (PADDING, config.pad_id, sides[0]),
        (END, config.eos_id, sides[0]),
        (END, config.eos_id, sides[1]),
    ):
        if side.index(name) != number:
            raise ModelError(
                f"{directory}: {name} has id {side.index(name):,} in the vocabulary, but "
                f"{number:,} in config.json: they belong to different models"
            )
    return tokenizer


def read_languages(directory: Path) -> dict[str, str]:
    """The languages of a Marian directory, if known, as fields of `Description`."""
    settings = _read_optional(directory, "tokenizer_config.json")
    named = {ours: settings.get(theirs) for ours, theirs in LANGUAGES.items()}
    return {ours: name for ours, name in named.items() if isinstance(name, str)}


def write_huggingface(
    model: Transformer,
    directory: Path,
    tokenizer: TokenizerLike | None = None,
    *,
    languages: Mapping[str, Any] | None = None,
    sentences: Sequence[str] = SENTENCES,
    log: Callable[[str], None] = lambda _: None,
) -> None:
    """Writes a directory that Hugging Face's `MarianMTModel` and `MarianTokenizer` load.

    It is compared with the model first: its logits, and the ids and translations of these
    sentences; the result is logged. Without a `tokenizer` only the network is written.
    """
    check_marian_compatible(model.config)
    if tokenizer is not None:
        check_vocabulary(tokenizer, model.config, directory)
    with atomic.directory(directory) as aside:
        _write_json(aside / "config.json", config_for_marian(model.config))
        _write_json(aside / "generation_config.json", _generation(model))
        save_file(to_marian(model), aside / WEIGHTS, metadata={"format": "pt"})
        if tokenizer is not None:
            for name, content in _tokenizer_files(tokenizer).items():
                (aside / name).write_bytes(content)
            _write_json(
                aside / "tokenizer_config.json", _tokenizer_settings(tokenizer, languages or {})
            )
        write_note(aside, huggingface_note(tokenizer, model.config.eos_id, languages or {}))
        agreement = compare(model, aside, tokenizer, sentences, read_huggingface)
    log(agreement)


def _generation(model: Transformer) -> dict[str, Any]:
    """Default search settings for Hugging Face, as close to §6.1 as possible."""
    bias = model.output.bias
    never = [] if bias is None else (bias <= FORBIDDEN).nonzero().tolist()
    return {
        **special_ids(model.config),
        "num_beams": SEARCHES[-1].beam,
        "length_penalty": SEARCHES[-1].alpha,
        "max_length": MAX_LENGTH,
        **({"bad_words_ids": never} if never else {}),
    }


def _forbidden(directory: Path, settings: Mapping[str, Any], vocab_size: int) -> list[int]:
    """The ids that Hugging Face excludes from search, and those that have no token.

    Sequences of several tokens are ignored.
    """
    generation = _read_optional(directory, "generation_config.json")
    words = generation.get("bad_words_ids") or settings.get("bad_words_ids") or []
    one = [word[0] for word in words if len(word) == 1] if _are_lists(words) else []
    tokens = _read_optional(directory, TARGET_VOCABULARY) or _read_optional(directory, VOCABULARY)
    named = [i for i in tokens.values() if isinstance(i, int)] or range(vocab_size)
    known = [i for i in one if isinstance(i, int) and 0 <= i < vocab_size]
    return [*known, *sorted(set(range(vocab_size)) - set(named))]


def _are_lists(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, list) for value in values)


def _tokenizer_files(tokenizer: TokenizerLike) -> dict[str, bytes]:
    if isinstance(tokenizer, MarianTokenizer):
        return tokenizer.files
    assert isinstance(tokenizer, Tokenizer)
    numbers = {piece: number for number, piece in enumerate(tokenizer.vocabulary)}
    vocabulary = json.dumps(numbers, ensure_ascii=False, indent=0) + "\n"
    return {SOURCE: tokenizer.model, TARGET: tokenizer.model, VOCABULARY: vocabulary.encode()}


def _tokenizer_settings(tokenizer: TokenizerLike, languages: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_LENGTH,
        **{theirs: languages[ours] for ours, theirs in LANGUAGES.items() if ours in languages},
        **({"bos_token": "<s>"} if "<s>" in tokenizer.target_vocabulary else {}),
        "eos_token": END,
        "unk_token": UNKNOWN,
        "pad_token": PADDING,
        "separate_vocabs": isinstance(tokenizer, MarianTokenizer)
        and TARGET_VOCABULARY in tokenizer.files,
        "split_special_tokens": True,  # "</s>" in a text is not a special symbol
        "clean_up_tokenization_spaces": False,
    }


def _read_weights(directory: Path) -> dict[str, Tensor]:
    """The tensors of model.safetensors, or else of pytorch_model.bin."""
    if (directory / WEIGHTS).is_file() or not (directory / PICKLED).is_file():
        try:
            return dict(load_file(directory / WEIGHTS))
        except FileNotFoundError:
            raise ModelError(f"{directory} has neither {WEIGHTS} nor {PICKLED}") from None
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{directory / WEIGHTS} cannot be read: {error}") from None
    file = directory / PICKLED
    if torch.torch_version.TorchVersion(torch.__version__) < SAFE_TORCH:
        raise ModelError(
            f"reading {file} safely needs torch {SAFE_TORCH} or later, but this is "
            f"{torch.__version__}: pip install --upgrade torch"
        )
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)  # executes no code
    except UnpicklingError:  # whose message advises to run the code
        raise ModelError(f"{file} is damaged, or has more than weights in it") from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n")[0] or "it is incomplete"
        raise ModelError(f"{file} cannot be read: {reason}") from None
    if not isinstance(found, dict) or not all(isinstance(x, Tensor) for x in found.values()):
        raise ModelError(f"{file} cannot be read: it is not a mapping of names to tensors")
    return found


def _check_positions(theirs: Mapping[str, Tensor], config: ModelConfig, directory: Path) -> None:
    """Raises ModelError if a stored table of positions, which older files have, is not ours."""
    for stack in ("encoder", "decoder"):
        table = theirs.get(f"model.{stack}.embed_positions.weight")
        if table is None:
            continue
        ours = torch.from_numpy(sinusoids(0, len(table), config.d_model, config.positions))
        if table.shape != ours.shape or (table.float() - ours).abs().max() > 1e-2:  # float16
            raise ModelError(
                f"{directory}: the position embeddings of the {stack} are not the sinusoids "
                "of Marian: learned positions are not supported"
            )


def _take(theirs: Mapping[str, Tensor], keys: tuple[str, ...], directory: Path) -> Tensor:
    """The first of these tensors that exists: tied matrices have several names."""
    for key in keys:
        if key in theirs:
            return theirs[key]
    raise ModelError(f"{directory}: the weights have no {keys[0]}")


def _read_optional(directory: Path, name: str) -> dict[str, Any]:
    return read_json(directory, name) if (directory / name).is_file() else {}


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
