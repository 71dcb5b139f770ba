"""One decoding, every metric, and the same numbers as sacreBLEU's own command."""

import gzip
import json
import lzma
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import digits
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.evaluate.comparison import compare
from transduce.evaluate.metrics import (
    corpus_scores,
    exact_match,
    paper_bleu,
    tokenised_lowercase_bleu,
)
from transduce.evaluate.text_checks import check_text
from transduce.evaluate.tokenised import language_of, lowercase_tokens, paper_tokens
from transduce.search import PAPER, Search
from transduce.tasks.translation import corpus_bleu
from transduce.train.prepare import reopen
from transduce.train.processes import join
from transduce.train.run import Run
from transduce.train.validate import validate
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


def write(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return str(file)


@pytest.fixture
def files(tmp_path) -> tuple[str, str]:
    return write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.de", REFERENCES)


@pytest.fixture
def system(monkeypatch) -> Fixed:
    """The translator that is loaded for every model directory but one called `rival`."""
    fixed = Fixed(TRANSLATIONS)

    def load(directory: Path | None = None, **_: object) -> Translator:
        return Fixed(OTHERS) if directory and directory.name == "rival" else fixed

    monkeypatch.setattr(Translator, "load", load)
    return fixed


def invoke(*args: str):
    return CliRunner().invoke(main, ["evaluate", *map(str, args)])


def facts_of(*args: str) -> dict:
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(*args: str) -> str:
    result = invoke(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def sacrebleu_command(translations: Path, *references: str) -> dict[str, dict]:
    """What the real command prints, to twelve digits after the point."""
    command = [sys.executable, "-m", "sacrebleu", *references, "-i", str(translations)]
    command += ["-m", "bleu", "chrf", "ter", "-w", "12", "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return {found["name"]: found for found in json.loads(done.stdout)}


def test_every_number_and_signature_is_that_of_the_sacrebleu_command(
    system, files, tmp_path
) -> None:
    output = tmp_path / "out.de"
    facts = facts_of(*files, "--output", output)
    theirs = sacrebleu_command(output, files[1])
    for ours, name in {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}.items():
        assert round(facts[ours], 12) == theirs[name]["score"]
        assert facts[f"{ours}_signature"] == theirs[name]["signature"]
    assert facts["bleu"] == corpus_bleu(TRANSLATIONS, REFERENCES)
    assert (
        facts["bleu_lowercase"]
        == BLEU(lowercase=True).corpus_score(TRANSLATIONS, [REFERENCES]).score
    )
    assert "case:lc" in facts["bleu_lowercase_signature"]


AWKWARD = [
    " a b c d ",
    "a b c d\u00a0",
    "a\u2028b c d",
    "a b\x85c d e",
    "a b c\rd",
    "\t",
    "",
    "a\x1fb c",
]


def test_blanks_and_unusual_line_ends_are_read_as_by_the_sacrebleu_command(
    system, tmp_path
) -> None:
    system.sources, system.translations = "abcdefgh", AWKWARD
    wanted = AWKWARD[1:] + AWKWARD[:1]
    source = write(tmp_path / "source", "abcdefgh")
    reference = write(tmp_path / "reference", [f"{line}\r" for line in wanted])
    output = tmp_path / "output"
    facts = facts_of(source, reference, "--output", output)
    theirs = sacrebleu_command(output, reference)
    assert round(facts["bleu"], 12) == theirs["BLEU"]["score"]
    assert round(facts["chrf"], 12) == theirs["chrF2"]["score"]
    assert round(facts["ter"], 12) == theirs["TER"]["score"]


def test_a_line_break_within_a_translation_does_not_shift_the_lines_after_it(
    system, files, tmp_path
) -> None:
    system.translations = ["Ein\nHund.", *TRANSLATIONS[1:]]
    facts = facts_of(*files, "--output", tmp_path / "out")
    assert len((tmp_path / "out").read_text("utf-8").split("\n")) == len(SOURCES) + 1
    assert (
        round(facts["bleu"], 12) == sacrebleu_command(tmp_path / "out", files[1])["BLEU"]["score"]
    )


def test_saved_translations_have_the_same_scores_without_a_model(system, files, tmp_path) -> None:
    output = tmp_path / "out.de"
    first = facts_of(*files, "--output", output)
    again = facts_of(*files, "--translations", output)
    assert len(system.searches) == 1
    unknown = {"perplexity", "seconds", "model", "engine", "compute", "device"}
    assert {key: again[key] for key in unknown} == dict.fromkeys(unknown)
    same = first.keys() - unknown - {"flags"}
    assert {key: again[key] for key in same} == {key: first[key] for key in same}


def test_the_json_has_every_key_that_scripts_rely_on(system, files) -> None:
    facts = facts_of(*files, "--model", "some/model")
    contract = (
        "bleu bleu_signature bleu_lowercase chrf ter perplexity exact_match sentences seconds"
    )
    added = (
        "bleu_lowercase_signature chrf_signature ter_signature bleu_paper bleu_paper_signature "
        "bleu_tokenised_lowercase bleu_tokenised_lowercase_signature "
        "length_ratio model engine compute device flags"
    )
    assert facts.keys() == {*contract.split(), *added.split()}
    assert facts["model"] == "some/model"
    assert (facts["engine"], facts["compute"], facts["device"]) == ("fixed", "int8", "cpu")
    assert facts["sentences"] == 6
    assert facts["exact_match"] == 2 / 6
    assert facts["flags"] == {"empty": 1}
    assert 0 <= facts["seconds"] < 60


def test_all_metrics_use_one_decoding_with_the_given_search_settings(
    system, files, tmp_path
) -> None:
    facts_of(*files, "--beam", "7", "--alpha", "1.5", "--output", tmp_path / "out")
    assert system.searches == [Search(beam=7, alpha=1.5)]
    facts_of(*files)
    assert system.searches[1] == PAPER


def test_perplexity_of_a_fair_die_is_the_number_of_its_faces(system, files) -> None:
    system.log_prob = math.log(1 / 6)
    assert facts_of(*files)["perplexity"] == pytest.approx(6, rel=1e-12)
    blank = SOURCES.index("")
    pairs = list(zip(SOURCES, REFERENCES, strict=True))
    assert system.scored == pairs[:blank] + pairs[blank + 1 :]


@pytest.mark.slow
def test_perplexity_is_the_trainers(tmp_path) -> None:
    train = digits.write(tmp_path / "train.tsv", digits.pairs(300, seed=1))
    pairs = list(dict.fromkeys(digits.pairs(20, seed=2)))
    valid = digits.write(tmp_path / "valid.tsv", pairs)
    settings = digits.settings(*digits.SMALL, "train.steps=12", "train.checkpoint_steps=12")
    command = ["train", str(tmp_path / "run"), "--train", str(train), "--valid", str(valid)]
    result = CliRunner().invoke(main, [*command, *settings])
    assert result.exit_code == 0, result.output
    run = Run(tmp_path / "run")
    source = write(tmp_path / "source", [source for source, _ in pairs])
    reference = write(tmp_path / "reference", [target for _, target in pairs])
    facts = facts_of(source, reference, "--model", run.model, "--engine", "torch")
    data = reopen(run)
    assert len(data.valid) == facts["sentences"] == len(pairs)
    with join() as processes:
        scores = validate(ModelDirectory.open(run.model).network(), data, 0, processes)
    assert facts["perplexity"] == pytest.approx(scores.perplexity, rel=1e-4)
    assert facts["engine"] == "torch"


def test_the_length_ratio_counts_the_words_of_all_lines() -> None:
    scores = corpus_scores(["a b c", "a"], [["a b c d", "a b, c"]])
    assert scores.length_ratio == 4 / 8


def test_several_references_count_as_in_the_sacrebleu_command(system, files, tmp_path) -> None:
    second = write(tmp_path / "second.de", TRANSLATIONS[:3] + REFERENCES[3:])
    output = tmp_path / "out"
    facts = facts_of(*files, "--ref", second, "--output", output)
    theirs = sacrebleu_command(output, files[1], second)
    assert round(facts["bleu"], 12) == theirs["BLEU"]["score"]
    assert round(facts["ter"], 12) == theirs["TER"]["score"]
    assert facts["bleu_signature"].startswith("nrefs:2|")
    assert facts["bleu_paper_signature"].startswith("nrefs:2|")
    assert facts["exact_match"] == 3 / 6
    assert len(system.scored) == 10
    assert facts["bleu"] > facts_of(*files)["bleu"]


def test_compressed_files_and_standard_input_give_the_same_scores(system, files, tmp_path) -> None:
    facts = facts_of(*files)
    content = [Path(file).read_bytes() for file in files]
    packed = tmp_path / "packed.en", tmp_path / "packed.de.xz"
    packed[0].write_bytes(gzip.compress(content[0]))
    packed[1].write_bytes(lzma.compress(content[1]))
    assert facts_of(*packed) | {"seconds": 0} == facts | {"seconds": 0}
    command = [sys.executable, "-m", "transduce", "evaluate", files[0], "-", "--json"]
    command += ["--translations", write(tmp_path / "out", TRANSLATIONS), "--language", "de"]
    done = subprocess.run(command, input=content[1], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bleu"] == facts["bleu"]
    assert json.loads(done.stdout)["bleu_paper"] == facts["bleu_paper"]


# The paper's BLEU


def test_the_papers_bleu_by_hand() -> None:
    """Er kauft ein E ##AT##-##AT## Book . | Er kauft das E ##AT##-##AT## Book ."""
    found = paper_bleu(["Er kauft ein E-Book."], [["Er kauft das E-Book."]], "de")
    precisions = 6 / 7, 4 / 6, 2 / 5, 1 / 4
    assert found.value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))
    short = paper_bleu(["Er kauft ein E-Book"], [["Er kauft ein E-Book."]], "de")
    assert short.value == pytest.approx(100 * math.exp(1 - 7 / 6))


def test_without_hyphens_the_papers_bleu_is_sacrebleus_unsmoothed() -> None:
    wanted = [line.replace("-", " ") for line in REFERENCES[:4] + REFERENCES[5:]]
    found = [line.replace("-", " ") for line in TRANSLATIONS[:4] + TRANSLATIONS[5:]]
    theirs = BLEU(smooth_method="none").corpus_score(found, [wanted]).score
    assert paper_bleu(found, [wanted], "de").value == pytest.approx(theirs)


def test_a_precision_of_zero_makes_the_papers_bleu_zero() -> None:
    found, wanted = ["Ein Hund rennt."], ["Ein Hund läuft."]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu_paper.value == 0.0
    assert scores.bleu.value > 0


def test_the_papers_bleu_is_cased_and_the_lowercased_is_not() -> None:
    found, wanted = ["ein hund rennt am strand."], ["Ein Hund rennt am Strand."]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu_paper.value < 100
    assert scores.bleu_lowercase.value == pytest.approx(100)
    assert scores.bleu.value < 100


@pytest.mark.parametrize(
    ("line", "language", "tokens"),
    [
        ("rich-text format", "en", "rich ##AT##-##AT## text format"),
        ("Aix-en-Provence", "de", "Aix ##AT##-##AT## en ##AT##-##AT## Provence"),
        ("ja - nein", "de", "ja - nein"),
        ("Kosten: 1,50 € …", "de", "Kosten : 1,50 € ..."),
        ("„Ja“, z.B. Dr. Müller.", "de", "„ Ja &quot; , z.B. Dr. Müller ."),
        ("It’s done!", "en", "It &apos;s done !"),
        ("", "de", ""),
    ],
)
def test_the_tokens_of_the_papers_bleu(line, language, tokens) -> None:
    assert paper_tokens(line, language) == tokens


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/test.de", "de"), ("test.de.gz", "de"), ("x.fr.xz", "fr"), ("refs.txt", "en"), ("-", "en")],
)
def test_the_tokenisers_language_is_that_of_the_references_name(name, language) -> None:
    assert language_of(name) == language


def test_the_papers_signature_names_the_tokenizer(system, files) -> None:
    assert "-de-compounds|smooth:none|" in facts_of(*files)["bleu_paper_signature"]
    given = facts_of(*files, "--language", "fr")["bleu_paper_signature"]
    assert given.startswith("nrefs:1|case:mixed|eff:no|tok:sacremoses-")
    assert "-fr-compounds|smooth:none|" in given


@pytest.mark.parametrize(
    ("line", "language", "tokens"),
    [
        # as its scripts/task1-tokenize.sh leaves them: hyphens whole, quotes escaped
        ("Ein blau-weißes T-Shirt, z.B. hier.", "de", "ein blau-weißes t-shirt , z.b. hier ."),
        ("Sie liest „Die Zeit“.", "de", "sie liest &quot; die zeit &quot; ."),
        ("Un « mot » d\u2019hier !", "fr", "un &quot; mot &quot; d&apos; hier !"),
        ("Er rasiert sich.\u00a0", "de", "er rasiert sich ."),
        ("", "fr", ""),
    ],
)
def test_the_tokens_of_papers_on_multi30k(line, language, tokens) -> None:
    assert lowercase_tokens(line, language) == tokens


def test_lowercased_tokenised_bleu_by_hand() -> None:
    """er kauft ein e-book . | er kauft das e-book ."""
    found = tokenised_lowercase_bleu(["ER kauft ein E-Book."], [["Er kauft das E-Book."]], "de")
    precisions = 4 / 5, 2 / 4, 0 / 3, 0 / 2
    assert found.value == 100 * math.prod(precisions)
    found = tokenised_lowercase_bleu(["ER kauft das E-Book !"], [["Er kauft das E-Book."]], "de")
    precisions = 4 / 5, 3 / 4, 2 / 3, 1 / 2
    assert found.value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))
    assert found.signature.startswith("nrefs:1|case:lc|eff:no|tok:sacremoses-")
    assert "-de-normalised|smooth:none|" in found.signature


# Significance


def test_both_systems_of_a_comparison_have_their_own_scores(system, files, tmp_path) -> None:
    other = write(tmp_path / "other.de", OTHERS)
    facts = facts_of(*files, "--against", other)
    against = facts["against"]
    for key, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        both = against[key]
        assert both["ours"]["score"] == facts[key]
        assert both["other"]["score"] == metric.corpus_score(OTHERS, [REFERENCES]).score
        assert both["signature"].replace("bs:1000|seed:12345|", "") == facts[f"{key}_signature"]
        assert 0 < both["p_value"] <= 1
        assert both["ours"]["ci"] > 0
    assert against["name"] == other
    assert (against["samples"], against["seed"]) == (1000, "12345")
    assert facts_of(*files, "--against", other)["against"] == against


def test_a_comparison_is_that_of_the_sacrebleu_command(system, files, tmp_path) -> None:
    other, ours = write(tmp_path / "other", OTHERS), write(tmp_path / "ours", TRANSLATIONS)
    command = [sys.executable, "-m", "sacrebleu", files[1], "-i", other, ours, "--paired-bs"]
    command += ["-m", "bleu", "chrf", "ter", "-w", "6", "-f", "text", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    against = facts_of(*files, "--against", other)["against"]
    for both in (against["bleu"], against["chrf"], against["ter"]):
        for found in (both["ours"], both["other"]):
            assert "{score:.6f} ({mean:.6f} ± {ci:.6f})".format(**found) in done.stdout
        assert f"(p = {both['p_value']:.4f})" in done.stdout


def test_a_model_directory_is_translated_and_compared(system, files, tmp_path) -> None:
    (tmp_path / "rival").mkdir()
    other = write(tmp_path / "other.de", OTHERS)
    translated = facts_of(*files, "--against", tmp_path / "rival")["against"]
    read = facts_of(*files, "--against", other)["against"]
    assert translated | {"name": other} == read


SENTENCES = [f"Das ist der Satz Nummer {n} von allen diesen Sätzen hier." for n in range(60)]


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    worse = [sentence.replace("von allen", "aus") for sentence in SENTENCES]
    clear = compare(SENTENCES, worse, [SENTENCES], "worse", samples=200)
    for difference in (clear.bleu, clear.chrf, clear.ter):
        assert difference.p_value < 0.05
    same = compare(worse, worse, [SENTENCES], "same", samples=200)
    for difference in (same.bleu, same.chrf, same.ter):
        assert difference.p_value == 1
        assert difference.ours == difference.other


def test_a_comparison_is_the_same_from_either_side() -> None:
    one, two = SENTENCES[::-1], [s.replace("Satz", "Teil") for s in SENTENCES]
    forth = compare(one, two, [SENTENCES], "two", samples=100)
    back = compare(two, one, [SENTENCES], "one", samples=100)
    assert forth.bleu.p_value == back.bleu.p_value
    assert (forth.ter.ours, forth.ter.other) == (back.ter.other, back.ter.ours)


# The page


def test_the_page_names_every_metric_with_its_score_and_signature(
    system, files, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    other = write(tmp_path / "other.de", OTHERS)
    facts = facts_of(*files, "--against", other)
    page = invoke(*files, "--against", other).stdout
    for key, name in {"bleu": "BLEU", "chrf": "chrF2", "ter": r"TER \(less is better\)"}.items():
        signature = re.escape(facts[f"{key}_signature"])
        assert re.search(rf"^ *{name} +{facts[key]:.2f} +{signature}$", page, re.MULTILINE), page
    assert f"{facts['bleu_paper_signature']}\n" in page
    assert "perplexity" in page
    assert "flagged: empty" in page
    assert "paired bootstrap, 1,000 resamples, seed 12345" in page
    assert f"{facts['against']['bleu']['p_value']:.4f}" in page


# Warnings and refusals


def test_there_is_a_warning_for_tokenised_and_for_lowercased_text(system, files, tmp_path) -> None:
    assert invoke(*files).stderr == ""
    system.translations = [line.lower().replace(".", " .") for line in TRANSLATIONS]
    lines = invoke(*files).stderr.split("\n")
    assert lines == [
        'warning: the translations look tokenised (100 % of the lines end in " ."): '
        "detokenise them, or the scores are not comparable",
        "warning: the translations look lowercased (100 % of the lines have no capital letter): "
        "use cased text, or compare only bleu_lowercase",
        "",
    ]
    reference = write(tmp_path / "tokenised.de", [f"{line[:-1]} ." for line in REFERENCES])
    assert "warning: the references look tokenised" in invoke(files[0], reference).stderr


def test_there_is_no_warning_for_text_without_case_or_full_stops() -> None:
    assert check_text("they", ["你好。", "一二三", "123", ""]) == []
    assert check_text("they", ["", ""]) == []
    assert check_text("they", ["Ja.", "Nein .", *["Gut."] * 20]) == []


def test_files_that_are_not_aligned_are_an_error(system, files, tmp_path) -> None:
    source, reference = files
    empty, short = write(tmp_path / "empty", []), write(tmp_path / "short", REFERENCES[:4])
    missing = str(tmp_path / "missing")
    unequal = f"{source} has 6 lines but {short} has 4: the files must be line-aligned"
    for args, sentence in [
        ((source, short), unequal),
        ((source, reference, "--ref", short), unequal),
        ((source, reference, "--against", short), unequal),
        ((source, reference, "--translations", short), unequal),
        ((source, empty), f"{empty} is empty: it needs one sentence per line"),
        ((empty, reference), f"{empty} is empty: it needs one sentence per line"),
        ((missing, reference), f"there is no file {missing}"),
        ((source, missing), f"there is no file {missing}"),
        ((source, reference, "--against", missing), f"there is no file {missing}"),
        ((source, str(tmp_path)), f"{tmp_path} is a directory: give a file"),
        (("-", "-"), "standard input can be read only once: give - for one file"),
        (
            (source, reference, "--translations", short, "--model", "m"),
            f"{short} has translations already: leave out --model and --output, or --translations",
        ),
    ]:
        assert refusal(*args) == f"transduce: {sentence}\n"
    assert system.searches == []


def test_an_unknown_language_is_an_error(system, files) -> None:
    start = "transduce: the Moses tokenizer does not support the language xx: give one of as, bn, "
    assert refusal(*files, "--language", "xx").startswith(start)


def test_an_output_that_cannot_be_written_is_an_error_before_translating(
    system, files, tmp_path
) -> None:
    before = Path(files[1]).read_bytes()
    nowhere = tmp_path / "no" / "out"
    for output, sentence in [
        (files[1], f"{files[1]} is also an input: name another file with --output"),
        (tmp_path, f"{tmp_path} is not a file: name another with --output"),
        (nowhere, f"there is no directory {nowhere.parent} for out: create it first"),
    ]:
        assert refusal(*files, "--output", output) == f"transduce: {sentence}\n"
    assert system.searches == []
    assert Path(files[1]).read_bytes() == before


def test_exact_match_is_the_share_of_lines_that_equal_a_reference() -> None:
    assert exact_match(["a", "b", "c", "d"], [["a", "x", "c", "b"], ["x", "b", "c", "a"]]) == 3 / 4
    assert exact_match(["a "], [["a"]]) == 0


words = st.lists(st.sampled_from(["ein", "Hund", "läuft", "rennt", "."]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_scores_equal_those_of_the_trainer_for_any_text(pairs) -> None:
    found, wanted = [a for a, _ in pairs], [b for _, b in pairs]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu.value == corpus_bleu(found, wanted)
    assert scores.bleu_paper.value <= scores.bleu.value + 1e-9
