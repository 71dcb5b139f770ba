"""What is compared: the same model in several systems, each translating text to text.

As a program: one system in a process of its own. A request is a list of texts; the answer has the
seconds and the translations. The last answer is the peak memory and how the system ran. Every
system imports what it needs and nothing more, so that its memory is its own.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from transduce.bench.process import Parent
from transduce.directory import ModelDirectory
from transduce.engines.ctranslate2_engine import Vocabularies
from transduce.machine import cores, peak_memory
from transduce.search import PAPER, Search
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

WORKER = "transduce.bench.translators"
OURS, TORCH = "transduce", "transduce-torch"
HUGGINGFACE, CTRANSLATE2 = "huggingface", "ctranslate2"
PEERS: dict[str, list[str]] = {
    HUGGINGFACE: [HUGGINGFACE],
    CTRANSLATE2: [f"{CTRANSLATE2}-float32", f"{CTRANSLATE2}-int8"],
}


@dataclass(frozen=True)
class Job:
    """What every system is given."""

    model: Path
    forms: Path  # the folder where the model is in the form of each peer
    beam: int = 4
    batch_size: int = 64


class Ours:
    """`transduce translate`."""

    def __init__(self, job: Job, engine: str) -> None:
        self.translator = Translator.load(job.model, engine=engine)
        self.options = TranslateOptions(
            Search(beam=job.beam), job.batch_size, by_sentence=False, insert=False
        )

    def translate(self, texts: Sequence[str]) -> list[str]:
        return self.translator.translate(texts, self.options)

    @property
    def runs(self) -> str:
        """How the engine that was chosen runs."""
        engine = self.translator.engine
        if engine.name == "torch":
            return torch_runs()
        from transduce.engines.router import Router

        assert isinstance(engine, Router)
        assert engine.fast is not None
        shortlist = "no shortlist" if engine.fast.shortlist is None else "a shortlist"
        return f"{ctranslate2_runs(engine.compute, cores(), 1)}, {shortlist}"


class HuggingFace:
    """What a user writes with transformers: batches in the order of the input, padded."""

    def __init__(self, job: Job) -> None:
        from transformers import MarianMTModel, MarianTokenizer

        from transduce.bench.peers import silence_transformers

        silence_transformers()
        directory = job.forms / HUGGINGFACE
        self.model = MarianMTModel.from_pretrained(directory, local_files_only=True).eval()
        self.tokenizer = MarianTokenizer.from_pretrained(directory, local_files_only=True)
        self.beam, self.batch_size = job.beam, job.batch_size
        self.runs = f"transformers {version('transformers')}, {torch_runs()}"

    def translate(self, texts: Sequence[str]) -> list[str]:
        import torch

        translations: list[str] = []
        with torch.inference_mode():
            for start in range(0, len(texts), self.batch_size):
                batch = self.tokenizer(
                    list(texts[start : start + self.batch_size]),
                    return_tensors="pt",
                    padding=True,
                    truncation=True,
                )
                found = self.model.generate(
                    **batch,
                    num_beams=self.beam,
                    length_penalty=PAPER.alpha,
                    max_length=PAPER.limit(batch.input_ids.shape[1]),
                )
                translations += self.tokenizer.batch_decode(found, skip_special_tokens=True)
        return translations


class CTranslate2:
    """What a user writes with CTranslate2: all lines at once, a worker for each core."""

    def __init__(self, job: Job, compute_type: str) -> None:
        import ctranslate2

        ctranslate2.set_log_level(40)
        self.translator = ctranslate2.Translator(
            str(job.forms / CTRANSLATE2),
            compute_type=compute_type,
            inter_threads=cores(),
            intra_threads=1,
        )
        model = ModelDirectory.open(job.model)
        self.tokenizer = model.tokenizer
        self.pieces = Vocabularies.of(self.tokenizer, model.config)
        self.ids = {piece: i for i, piece in enumerate(self.pieces.target)}
        self.beam, self.batch_size = job.beam, job.batch_size
        self.runs = ctranslate2_runs(compute_type, cores(), 1) + ", no shortlist"

    def translate(self, texts: Sequence[str]) -> list[str]:
        sources = [
            [self.pieces.source[i] for i in ids] for ids in self.tokenizer.encode_batch(texts)
        ]
        results = self.translator.translate_batch(
            sources,
            beam_size=self.beam,
            max_batch_size=self.batch_size,
            max_decoding_length=PAPER.limit(max(map(len, sources))),
            use_vmap=False,
        )
        best = [result.hypotheses[0] for result in results]
        return [self.tokenizer.decode([self.ids[piece] for piece in pieces]) for pieces in best]


def translator_of(name: str, job: Job) -> Ours | HuggingFace | CTranslate2:
    """The system of this name, ready to translate."""
    if name == OURS:
        return Ours(job, "auto")
    if name == TORCH:
        return Ours(job, "torch")
    if name == HUGGINGFACE:
        return HuggingFace(job)
    return CTranslate2(job, name.removeprefix(f"{CTRANSLATE2}-"))


def torch_runs() -> str:
    import torch

    return f"torch {torch.__version__}, {counted(torch.get_num_threads(), 'thread')}"


def ctranslate2_runs(compute_type: str, workers: int, threads: int) -> str:
    shape = f"{counted(workers, 'worker')} of {counted(threads, 'thread')}"
    return f"ctranslate2 {version('ctranslate2')}, {compute_type}, {shape}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def main(name: str, model: str, forms: str, beam: str, batch_size: str) -> None:
    parent = Parent()
    system = translator_of(name, Job(Path(model), Path(forms), int(beam), int(batch_size)))
    for texts in parent.requests():
        start = time.perf_counter()
        translations = system.translate(texts)
        parent.answer({"seconds": time.perf_counter() - start, "translations": translations})
    parent.answer({"peak_memory": peak_memory(), "runs": system.runs})


if __name__ == "__main__":
    main(*sys.argv[1:])
