"""One decoding, every metric, and the same numbers as sacreBLEU's own command."""

import gzip
import json
import lzma
import math
import subprocess
import sys
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner
from evaluating import (
    REFERENCES,
    SOURCES,
    TRANSLATIONS,
    Fixed,
    facts_of,
    invoke,
    load_fixed,
    write,
    write_files,
)
from sacrebleu.metrics import BLEU

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.evaluate.text_checks import check_text
from transduce.search import PAPER, Search
from transduce.tasks.translation import corpus_bleu
from transduce.train.prepare import reopen
from transduce.train.processes import join
from transduce.train.run import Run
from transduce.train.validate import validate

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


@pytest.fixture
def files(tmp_path) -> tuple[str, str]:
    return write_files(tmp_path)


@pytest.fixture
def system(monkeypatch) -> Fixed:
    return load_fixed(monkeypatch)


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


def test_the_papers_signature_names_the_tokenizer(system, files) -> None:
    assert "-de-compounds|smooth:none|" in facts_of(*files)["bleu_paper_signature"]
    given = facts_of(*files, "--language", "fr")["bleu_paper_signature"]
    assert given.startswith("nrefs:1|case:mixed|eff:no|tok:sacremoses-")
    assert "-fr-compounds|smooth:none|" in given


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
            f"{short} has translations already: leave out --model, --reverse and --output, or "
            "--translations",
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
