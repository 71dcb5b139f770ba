"""The model in the box: it is whole, small and good, and any company leaves its words alone."""

import gzip
import json
import subprocess
import sys

import pytest
from batching import arranged
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from transduce.directory import ModelDirectory
from transduce.engines.ctranslate2_engine import Setting
from transduce.engines.loader import fast_directory, open_engine, open_reference, run_fast
from transduce.tokenizer import load_tokenizer
from transduce.translate.translator import BUNDLED, Translator

RESULT = BUNDLED.parents[1] / "results" / "tatoeba-en-de.json"


@pytest.fixture(scope="module")
def pairs(data):
    with gzip.open(data / "tatoeba-en-de" / "test.tsv.gz", "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


@pytest.fixture(scope="module")
def sources(pairs):
    return load_tokenizer(BUNDLED).encode_batch([source for source, _ in pairs])


@pytest.fixture(scope="module")
def references(pairs):
    return [[reference for _, reference in pairs]]


@pytest.fixture(scope="module")
def fast():
    return open_engine(ModelDirectory.open(BUNDLED))


@pytest.fixture(scope="module")
def found(fast, sources):
    return best(fast.search(sources[:1000]))


@pytest.fixture(scope="module")
def by_torch(sources):
    return best(open_reference(ModelDirectory.open(BUNDLED)).search(sources))


def best(hypotheses):
    return [h[0].tokens for h in hypotheses]


def bleu(tokens, references):
    vocabulary = load_tokenizer(BUNDLED)
    return BLEU().corpus_score([vocabulary.decode(t) for t in tokens], references).score


def test_it_is_whole_and_takes_25_megabytes_at_most() -> None:
    ModelDirectory.open(BUNDLED)
    assert sum(f.stat().st_size for f in BUNDLED.rglob("*") if f.is_file()) <= 25_000_000


def test_its_fast_engine_is_in_the_box() -> None:
    assert fast_directory(ModelDirectory.open(BUNDLED)) == BUNDLED / "ctranslate2"


def test_its_card_names_data_licence_scores_cost_and_limits() -> None:
    card = (BUNDLED / "card.md").read_text("utf-8")
    for said in (
        "Tatoeba",
        "CC BY 2.0",
        "nrefs:1|case:mixed",
        "floating-point operations",
        "of training",
        "not good at",
    ):
        assert said in card
    description = ModelDirectory.open(BUNDLED).description
    assert (description.source_language, description.target_language) == ("en", "de")


def test_one_command_translates_without_a_network() -> None:
    """Any attempt to reach another machine is an error in this process."""
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


def test_everyday_sentences_come_out_right() -> None:
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
    assert score >= 34
    assert CHRF().corpus_score(translations, [references]).score >= 55


@pytest.mark.parametrize("company", ["alone", "sevens", "longest first", "shuffled", "twice"])
def test_1000_sentences_are_translated_the_same_in_any_company(
    fast, sources, found, company
) -> None:
    order, size = arranged(sources[:1000], company)
    again = best(fast.search([sources[i] for i in order], batch_size=size))
    assert again == [found[i] for i in order]


def test_both_engines_write_the_same_text(sources, by_torch) -> None:
    place = fast_directory(ModelDirectory.open(BUNDLED))
    whole = run_fast(ModelDirectory.open(BUNDLED), place, Setting("float32", 1, 1), shortlist=False)
    same = sum(a == b for a, b in zip(best(whole.search(sources)), by_torch, strict=True))
    assert same >= 0.99 * len(sources)


def test_bytes_and_a_shortlist_cost_at_most_a_tenth_of_bleu(sources, by_torch, references) -> None:
    engine = run_fast(
        ModelDirectory.open(BUNDLED),
        fast_directory(ModelDirectory.open(BUNDLED)),
        Setting("int8", 1, 1),
    )
    theirs = bleu(best(engine.search(sources)), references)
    assert theirs >= bleu(by_torch, references) - 0.1
