"""The bundled model: complete, small, good, and batch-invariant on every CPU."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from batching import arranged
from models import best
from sacrebleu.metrics.bleu import BLEU

from transduce.directory import ModelDirectory
from transduce.engines.router import find_converted, open_engine
from transduce.model_names import bundled_models
from transduce.search import PAPER, length_penalty
from transduce.translate.translator import Translator

BUNDLED = bundled_models()["en-de"]
RESULT = Path(__file__).parents[1] / "results" / "tatoeba-en-de.json"


def lines(file, count):
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:count]


@pytest.fixture(scope="module")
def pairs(data):
    return [line.split("\t") for line in lines(data / "tatoeba-en-de" / "test.tsv.gz", 2000)]


@pytest.fixture(scope="module")
def directory():
    return ModelDirectory.open(BUNDLED)


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
def mixed(data, directory):
    """2,000 lines of several kinds: news, captions and everyday sentences."""
    news = lines(data / "newstest" / "newstest2014.en.gz", 3000)
    captions = lines(data / "multi30k" / "test_2017_flickr.en.gz", 500)
    everyday = lines(data / "tatoeba-en-de" / "mono.en.gz", 1250)
    short = [text for text in news if len(text) < 150][:250]
    return directory.tokenizer.encode_batch([*short, *captions, *everyday])


@pytest.fixture(scope="module")
def mixed_found(fast, mixed):
    return best(fast, mixed)


def bleu(directory, tokens, references):
    texts = [directory.tokenizer.decode(ids) for ids in tokens]
    return BLEU().corpus_score(texts, references).score


def test_it_is_complete_and_takes_25_megabytes_at_most() -> None:
    ModelDirectory.open(BUNDLED)
    assert sum(f.stat().st_size for f in BUNDLED.rglob("*") if f.is_file()) <= 25_000_000


def test_it_is_already_converted_for_ctranslate2(directory) -> None:
    assert find_converted(directory) == BUNDLED / "ctranslate2"


def test_its_card_names_data_licence_scores_cost_and_limits() -> None:
    card = (BUNDLED / "card.md").read_text("utf-8")
    for fact in (
        "Tatoeba",
        "CC BY 2.0",
        "nrefs:1|case:mixed",
        "floating-point operations",
        "of training",
        "not good at",
    ):
        assert fact in card
    description = ModelDirectory.open(BUNDLED).description
    assert (description.source_language, description.target_language) == ("en", "de")


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


def test_everyday_sentences_are_translated_correctly() -> None:
    wanted = {
        "Good morning!": "Guten Morgen!",
        "I don't understand.": "Ich verstehe nicht.",
        "What time is it?": "Wie spät ist es?",
        "She is reading a book.": "Sie liest ein Buch.",
        "Thank you very much.": "Vielen Dank!",
    }
    assert Translator.load().translate(list(wanted)) == list(wanted.values())


def test_it_scores_what_its_results_say(pairs) -> None:
    texts, references = map(list, zip(*pairs, strict=True))
    translations = Translator.load().translate(texts)
    published = json.loads(RESULT.read_text("utf-8"))["scores"]
    score = BLEU().corpus_score(translations, [references]).score
    assert score == pytest.approx(published["bleu"], abs=0.2)


@pytest.mark.parametrize("arrangement", ["alone", "thirteen", "shuffled"])
def test_2000_lines_of_several_kinds_are_translated_the_same_in_every_batch(
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
