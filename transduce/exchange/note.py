"""README.md of an export: how to translate with it in its own toolkit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transduce.tokenizer import OURS, MarianTokenizer, TokenizerLike
from transduce.tokenizer.marian import SOURCE, TARGET

TEXT = "Where is the nearest station?"

NOTE = """# A translation model for {toolkit}

Exported by transduce{languages}. After `pip install {packages}`, in this directory:

```python
{usage}
```
"""

CTRANSLATE2 = """\
import ctranslate2, sentencepiece
source, target = (sentencepiece.SentencePieceProcessor(f) for f in ("{source}", "{target}"))
translator = ctranslate2.Translator(".")
tokens = [{code}*source.encode("{text}", out_type=str)]
print(target.decode(translator.translate_batch([tokens], beam_size=4)[0].hypotheses[0]))"""

ARGOS = """\
import argostranslate.package, argostranslate.translate
argostranslate.package.install_from_path("{file}")
print(argostranslate.translate.translate("{text}", "{source_language}", "{target_language}"))"""

HUGGINGFACE = """\
from transformers import MarianMTModel, MarianTokenizer
tokenizer, model = (c.from_pretrained(".") for c in (MarianTokenizer, MarianMTModel))
inputs = tokenizer(["{code}{text}"], return_tensors="pt")
outputs = model.generate(**inputs)
print(tokenizer.batch_decode(outputs, skip_special_tokens=True)[0])"""

HUGGINGFACE_IDS = """\
import torch
from transformers import MarianMTModel
model = MarianMTModel.from_pretrained(".")
source = torch.tensor([[{eos}]])  # token ids: this model was exported without a vocabulary
print(model.generate(source))"""


def write_note(directory: Path, note: str) -> None:
    (directory / "README.md").write_text(note, "utf-8")


def ctranslate2_note(tokenizer: TokenizerLike, described: Mapping[str, Any]) -> str:
    """The note of a CTranslate2 export; `described` are the fields of `Description`."""
    marian = isinstance(tokenizer, MarianTokenizer)
    files = {"source": SOURCE, "target": TARGET} if marian else {"source": OURS, "target": OURS}
    code = "".join(f'"{code}", ' for code in _code(tokenizer))
    usage = CTRANSLATE2.format(**files, code=code, text=TEXT)
    return _note("CTranslate2", "ctranslate2 sentencepiece", usage, described)


def argos_note(file: str, described: Mapping[str, Any]) -> str:
    """The note of a package of Argos Translate, which is in the file itself."""
    usage = ARGOS.format(**{**described, "file": file, "text": TEXT})
    return _note("Argos Translate and LibreTranslate", "argostranslate", usage, described)


def huggingface_note(
    tokenizer: TokenizerLike | None, eos_id: int, described: Mapping[str, Any]
) -> str:
    """The note of a Hugging Face export, with or without a tokenizer."""
    if tokenizer is None:
        usage = HUGGINGFACE_IDS.format(eos=eos_id)
    else:
        code = "".join(f"{code} " for code in _code(tokenizer))
        usage = HUGGINGFACE.format(code=code, text=TEXT)
    packages = "'transformers[torch,sentencepiece]'"
    return _note("Hugging Face transformers", packages, usage, described)


def _note(toolkit: str, packages: str, usage: str, described: Mapping[str, Any]) -> str:
    pair = [described.get(f"{side}_language") for side in ("source", "target")]
    languages = f", {pair[0]} to {pair[1]}" if all(pair) else ""
    return NOTE.format(toolkit=toolkit, languages=languages, packages=packages, usage=usage)


def _code(tokenizer: TokenizerLike) -> tuple[str, ...]:
    """A code of a target language, if the model has several."""
    return tokenizer.languages[:1] if isinstance(tokenizer, MarianTokenizer) else ()
