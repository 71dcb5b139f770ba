"""`transduce evaluate` with a translator of fixed outputs, for tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from click.testing import CliRunner

from transduce.cli import main
from transduce.search import Search
from transduce.translate.join import Translation
from transduce.translate.options import DEFAULTS, TranslateOptions
from transduce.translate.translator import Translator

SOURCES = [
    "A dog runs on the beach.",
    "Two men are talking.",
    "",
    "The well-known author reads her e-book.",
    'She says: "I\'m tired" and sleeps.',
    "A child plays in the garden.",
]
REFERENCES = [
    "Ein Hund rennt am Strand entlang.",
    "Zwei Männer unterhalten sich.",
    "",
    "Die wohl-bekannte Autorin liest ihr E-Book.",
    "Sie sagt: „Ich bin müde“ und schläft.",
    "Ein Kind spielt im Garten.",
]
TRANSLATIONS = [
    "Ein Hund läuft am Strand entlang.",
    "Zwei Männer unterhalten sich.",
    "",
    "Die bekannte Autorin liest ihr E-Book.",
    "Sie sagt: „Ich bin müde“, und sie schläft.",
    "Das Kind spielt in einem Garten.",
]
OTHERS = ["Ein Hund.", "Zwei Leute.", "", "Sie liest.", "Ich bin müde.", "Ein Kind spielt im Hof."]


class Fixed(Translator):
    """Returns fixed translations, and the same log-probability for every token."""

    engine = SimpleNamespace(name="fixed", compute="int8", device="cpu")

    def __init__(self, translations: Sequence[str], log_prob: float = -2.0) -> None:
        self.sources: Sequence[str] = SOURCES
        self.translations = translations
        self.log_prob = log_prob
        self.searches: list[Search] = []
        self.scored: list[tuple[str, str]] = []

    def results(
        self, texts: Sequence[str], options: TranslateOptions = DEFAULTS
    ) -> list[Translation]:
        self.searches.append(options.search)
        found = dict(zip(self.sources, self.translations, strict=True))
        return [
            Translation(
                text=text,
                translation=found[text],
                score=0.0,
                tokens=(),
                flags=("empty",) if not text else (),
            )
            for text in texts
        ]

    def score(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        self.scored = list(zip(sources, targets, strict=True))
        return [(self.log_prob,) * (len(target.split()) + 1) for target in targets]


def load_fixed(monkeypatch) -> Fixed:
    """The translator that is loaded for every model directory but one called `rival`."""
    fixed = Fixed(TRANSLATIONS)

    def load(directory: Path | None = None, **_: object) -> Translator:
        return Fixed(OTHERS) if directory and directory.name == "rival" else fixed

    monkeypatch.setattr(Translator, "load", load)
    return fixed


def write(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return str(file)


def write_files(folder: Path) -> tuple[str, str]:
    return write(folder / "test.en", SOURCES), write(folder / "test.de", REFERENCES)


def invoke(*args: str):
    return CliRunner().invoke(main, ["evaluate", *map(str, args)])


def facts_of(*args: str) -> dict:
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
