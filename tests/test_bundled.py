"""The bundled models: complete, small, good, and batch-invariant on every CPU."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from batching import arranged
from click.testing import CliRunner
from models import best
from sacrebleu.metrics.bleu import BLEU

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import find_converted, open_engine
from transduce.evaluate.output import translate
from transduce.model_names import bundled_models
from transduce.search import PAPER, length_penalty
from transduce.translate.translator import Translator

RESULTS = Path(__file__).parents[1] / "results"
EVERYDAY = {  # and their correct translations
    "en-de": {
        "Good morning!": {"Guten Morgen!"},
        "I don't understand.": {"Ich verstehe nicht."},
        "What time is it?": {"Wie viel Uhr ist es?", "Wie spät ist es?"},
        "She is reading a book.": {"Sie liest gerade ein Buch.", "Sie liest ein Buch."},
        "Thank you very much.": {"Vielen Dank!"},
    },
    "de-en": {
        "Guten Morgen!": {"Good morning!"},
        "Ich verstehe nicht.": {"I don't understand."},
        "Sie liest ein Buch.": {"She is reading a book.", "She reads a book."},
        "Was waren die Alternativen?": {"What were the alternatives?"},
        "Tom spricht besser Französisch als ich.": {
            "Tom speaks French better than me.",
            "Tom speaks French better than I do.",
        },
    },
}


def lines(file, count):
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:count]


@pytest.fixture(scope="module", params=EVERYDAY)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def directory(name):
    return ModelDirectory.open(bundled_models()[name])


@pytest.fixture(scope="module")
def pairs(data, name):
    sides = [line.split("\t") for line in lines(data / "tatoeba-en-de" / "test.tsv.gz", 2000)]
    return sides if name == "en-de" else [(german, english) for english, german in sides]


@pytest.fixture(scope="module")
def sources(directory, pairs):
    return directory.tokenizer.encode_batch([source for source, _ in pairs])


@pytest.fixture(scope="module")
def references(pairs):
    return [[reference for _, reference in pairs]]


@pytest.fixture(scope="module")
def fast(directory):
    return open_engine(directory, engine="ctranslate2")


@pytest.fixture(scope="module")
def found(fast, sources):
    return best(fast, sources)


@pytest.fixture(scope="module")
def torch_engine(directory):
    return open_engine(directory, engine="torch")


@pytest.fixture(scope="module")
def by_torch(torch_engine, sources):
    return best(torch_engine, sources)


@pytest.fixture(scope="module")
def mixed(data, directory, name):
    """2,000 lines of several kinds: news, captions and everyday sentences; 500 of German."""
    source, share = name[:2], 1 if name == "en-de" else 4
    news = lines(data / "newstest" / f"newstest2014.{source}.gz", 3000)
    captions = lines(data / "multi30k" / f"test_2017_flickr.{source}.gz", 500 // share)
    everyday = lines(data / "tatoeba-en-de" / f"mono.{source}.gz", 1250 // share)
    short = [text for text in news if len(text) < 150][: 250 // share]
    return directory.tokenizer.encode_batch([*short, *captions, *everyday])


@pytest.fixture(scope="module")
def mixed_found(fast, mixed):
    return best(fast, mixed)


def bleu(directory, tokens, references):
    texts = [directory.tokenizer.decode(ids) for ids in tokens]
    return BLEU().corpus_score(texts, references).score


def test_it_is_complete_and_takes_25_megabytes_at_most(directory) -> None:
    files = [file for file in directory.path.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 25_000_000


def test_it_is_already_converted_for_ctranslate2(directory) -> None:
    assert find_converted(directory) == directory.path / "ctranslate2"


def test_its_card_names_data_licence_scores_cost_and_limits(directory, name) -> None:
    card = (directory.path / "card.md").read_text("utf-8")
    for fact in (
        "Tatoeba",
        "CC BY 2.0",
        "nrefs:1|case:mixed",
        "floating-point operations",
        "of training",
        "not good at",
    ):
        assert fact in card
    assert "-".join(directory.languages.values()) == name


def test_one_command_translates_without_a_network() -> None:
    """Any connection to another machine is an error in this process."""
    code = (
        "import socket\n"
        "def refused(*_): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.getaddrinfo = refused\n"
        "from transduce.cli import main\n"
        "main(['translate', 'Where is the nearest station?'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Bahnhof" in done.stdout
    assert done.stderr == ""


def test_everyday_sentences_are_translated_correctly(name) -> None:
    wanted = EVERYDAY[name]
    found = Translator.load(name).translate(list(wanted))
    wrong = [text for text, right in zip(found, wanted.values(), strict=True) if text not in right]
    assert wrong == []


def test_the_direction_is_chosen_by_the_target_language() -> None:
    done = CliRunner().invoke(main, ["translate", "--to", "en", "Guten Morgen!"])
    assert done.stdout == "Good morning!\n"


def test_it_scores_what_its_results_say(name, pairs) -> None:
    texts, references = map(list, zip(*pairs, strict=True))
    translator = Translator.load(name)
    record = (RESULTS / f"tatoeba-{name}.json").read_text("utf-8")
    published = json.loads(record)["scores"]["bleu"]
    own = translate(translator, texts, PAPER, batch_size=64).lines
    assert BLEU().corpus_score(own, [references]).score == pytest.approx(published, abs=0.2)
    corrected = translator.translate(texts)  # sentence by sentence, with what was lost restored
    assert BLEU().corpus_score(corrected, [references]).score > published - 0.2


@pytest.mark.parametrize("arrangement", ["alone", "thirteen", "shuffled"])
def test_lines_of_several_kinds_are_translated_the_same_in_every_batch(
    fast, mixed, mixed_found, arrangement
) -> None:
    order, size = arranged(mixed, arrangement)
    again = best(fast, [mixed[i] for i in order], batch_size=size)
    assert again == [mixed_found[i] for i in order]


def test_both_engines_write_the_same_text_in_float32(directory, sources, by_torch) -> None:
    whole = open_engine(directory, engine="ctranslate2", compute="float32")
    whole.fast.shortlist = None
    same = sum(a == b for a, b in zip(best(whole, sources), by_torch, strict=True))
    assert same >= 0.99 * len(sources)


def test_int8_and_the_shortlist_cost_at_most_a_tenth_of_bleu(
    directory, found, by_torch, references
) -> None:
    assert bleu(directory, found, references) >= bleu(directory, by_torch, references) - 0.1


def test_torch_finds_what_int8_writes_as_likely_as_its_own_within_a_hundredth(
    torch_engine, sources, found, by_torch
) -> None:
    means = []
    for outputs in (found, by_torch):
        scored = torch_engine.score(sources, outputs)
        scores = [sum(tokens) / length_penalty(len(tokens), PAPER) for tokens in scored]
        means.append(sum(scores) / len(scores))
    assert means[0] == pytest.approx(means[1], rel=0.01)
