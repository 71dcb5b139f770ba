"""Small models in the formats of OPUS-MT, for tests: a writer of Marian's documented names."""

import io
import json
from pathlib import Path

import numpy as np
import sentencepiece

from transduce import grammar

PAIRS = list(grammar.sentences("train", 300, seed=0))
LAYER = {
    "self": ["Wq", "Wk", "Wv", "Wo", "bq", "bk", "bv", "bo"],
    "context": ["Wq", "Wk", "Wv", "Wo", "bq", "bk", "bv", "bo"],
}
SETTINGS = {
    "type": "transformer",
    "enc-depth": 2,
    "dec-depth": 1,
    "dim-emb": 32,
    "transformer-heads": 4,
    "transformer-dim-ffn": 48,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-postprocess-emb": "d",
    "transformer-no-projection": False,
    "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False,
    "transformer-guided-alignment-layer": "last",
    "right-left": False,
    "tied-embeddings-all": True,
    "layer-normalization": False,
}


def learn(lines: list[str], vocab_size: int, **options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.IdToPiece(i) for i in range(3, processor.GetPieceSize())]


SPM = {
    "source.spm": learn([pair.source for pair in PAIRS], 200),
    "target.spm": learn([pair.target for pair in PAIRS], 200),
}
SOURCE, TARGET = pieces_of(SPM["source.spm"]), pieces_of(SPM["target.spm"])


def yaml_vocabulary(tokens: list[str]) -> str:
    """As Marian writes it: JSON's quotes where YAML needs them."""
    plain = [
        token if token[0].isalpha() else json.dumps(token, ensure_ascii=False) for token in tokens
    ]
    return "".join(f"{token}: {i}\n" for i, token in enumerate(plain))


def arrays(sizes: tuple[int, int], settings: dict, seed: int = 0, **layout) -> dict:
    """Random weights by Marian's names; `layout`: separate embeddings, an own output matrix."""
    random = np.random.default_rng(seed)
    d, ffn = settings["dim-emb"], settings["transformer-dim-ffn"]
    pre = "_pre" if settings["transformer-preprocess"] == "n" else ""

    def draw(*shape, mean=0.0):
        return (mean + random.normal(0, 0.3, shape)).astype(np.float32)

    found = {}
    if layout.get("separate"):
        found |= {"encoder_Wemb": draw(sizes[0], d), "decoder_Wemb": draw(sizes[1], d)}
    else:
        found["Wemb"] = draw(sizes[0], d)
    if layout.get("output"):
        found["decoder_ff_logit_out_W"] = draw(d, sizes[1])
    if layout.get("bias", True):
        found["decoder_ff_logit_out_b"] = draw(1, sizes[1])
    for stack, depth in (("encoder", "enc-depth"), ("decoder", "dec-depth")):
        for number in range(1, settings[depth] + 1):
            prefix = f"{stack}_l{number}"
            for part in ("self",) if stack == "encoder" else ("self", "context"):
                for name in LAYER[part]:
                    found[f"{prefix}_{part}_{name}"] = draw(d if name[0] == "W" else 1, d)
                found[f"{prefix}_{part}_Wo_ln_scale{pre}"] = draw(1, d, mean=1.0)
                found[f"{prefix}_{part}_Wo_ln_bias{pre}"] = draw(1, d)
            found[f"{prefix}_ffn_W1"], found[f"{prefix}_ffn_b1"] = draw(d, ffn), draw(1, ffn)
            found[f"{prefix}_ffn_W2"], found[f"{prefix}_ffn_b2"] = draw(ffn, d), draw(1, d)
            found[f"{prefix}_ffn_ffn_ln_scale{pre}"] = draw(1, d, mean=1.0)
            found[f"{prefix}_ffn_ffn_ln_bias{pre}"] = draw(1, d)
        if pre:
            found[f"{stack}_top_ln_scale"] = draw(1, d, mean=1.0)
            found[f"{stack}_top_ln_bias"] = draw(1, d)
    return found


def settings_array(settings: dict) -> np.ndarray:
    """`special:model.yml`: bytes with a NUL at the end."""
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    return np.frombuffer(text.encode() + b"\0", dtype=np.int8)


def write_marian(folder: Path, changes: dict | None = None, **layout) -> Path:
    """The content of an archive of OPUS-MT."""
    settings = {**SETTINGS, **(changes or {})}
    tokens = ["</s>", "<unk>", *sorted({*SOURCE, *TARGET})]
    source, target = tokens, tokens
    if layout.get("separate"):
        source, target = tokens[:2] + SOURCE, tokens[:2] + TARGET
    folder.mkdir(exist_ok=True, parents=True)
    weights = arrays((len(source), len(target)), settings, **layout)
    name = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz"
    np.savez(folder / name, **weights, **{"special:model.yml": settings_array(settings)})
    names = ["opus.vocab.yml"] * 2
    if layout.get("separate"):
        names = ["opus.src.vocab.yml", "opus.trg.vocab.yml"]
    for vocabulary, some in zip(names, (source, target), strict=True):
        (folder / vocabulary).write_text(yaml_vocabulary(some), "utf-8")
    for file, content in SPM.items():
        (folder / file).write_bytes(content)
    lines = ["relative-paths: true", "models:", f"  - {name}", "vocabs:"]
    lines += [f"  - {vocabulary}" for vocabulary in names] + ["beam-size: 6", "normalize: 1"]
    (folder / "decoder.yml").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "README.md").write_text(
        "# opus-2020-02-26.zip\n\n* dataset: opus\n* model: transformer-align\n"
        "* source language(s): en\n* target language(s): de\n",
        "utf-8",
    )
    return folder
