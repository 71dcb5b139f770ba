"""`transduce translate` and `transduce score`: any line, and what is printed for it."""

import gzip
import json
import math
import os
import select
import subprocess
import sys

import pytest
import torch
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.tokenizer import load_tokenizer

HOSTILE = [
    b"",
    b"   ",
    b"\t\x00\x01",
    "\u00a0\u200b\ufeff".encode(),
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f600\U0001f600".encode(),
    "שלום עולם، مرحبا بالعالم".encode(),
    b"a\x07\x1b[31mred\x00dog",
    "one\u2028line\u2029still\u0085one".encode(),
    b"caf\xe9 \xff\xfe",
    b"the dog sees the cat " * 2000,
    b"x" * 30_000,
    b"\r",
    "▁▁▁ \u0010 ▁".encode(),
    "A" + "\u0301" * 500 + " dog",
]
HOSTILE = [line if isinstance(line, bytes) else line.encode() for line in HOSTILE]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("translate") / "model")


def run(*words, text=None):
    """The lines of standard output of a successful command."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def complaint(*words, text=None):
    result = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert result.exit_code == 2
    assert result.stdout == ""
    return result.stderr.strip()


def write(file, lines):
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def long_pairs():
    """A line of more tokens than the fast engine takes between two short ones."""
    sources, targets = map(list, zip(*pairs(90), strict=True))
    return [sources[0], " ".join(sources), sources[1]], [targets[0], " ".join(targets), targets[1]]


def test_evaluate_keeps_lines_whole(directory, tmp_path) -> None:
    line = "The dog sleeps. Is a cat here? The bird is small."
    source, target = write(tmp_path / "a", [line]), write(tmp_path / "b", ["x"])
    words = ["--model", directory, "--output", tmp_path / "out"]
    run("evaluate", source, target, *words)
    whole = run("translate", "--model", directory, "--sentences", "off", line)
    assert (tmp_path / "out").read_text("utf-8").split() == whole[0].split()


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_every_hostile_line_gets_an_output_line(directory, tmp_path, engine) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(b"\n".join(HOSTILE) + b"\n")
    words = ["--model", directory, "--engine", engine, "--beam", 1, "--input", source]
    run("translate", *words, "--output", target)
    lines = target.read_bytes().split(b"\n")
    assert len(lines) == len(HOSTILE) + 1
    assert lines[-1] == b""
    assert len(target.read_text("utf-8").splitlines()) == len(HOSTILE)
    for blank in (0, 1, 2, 3, 11):
        assert lines[blank] == b""


@pytest.mark.slow
def test_a_line_of_five_megabytes_is_one_line(directory, tmp_path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    sentences = " ".join(s for s, _ in pairs(50))
    source.write_text(sentences * (5_000_000 // len(sentences)) + "\nA dog.\n", "utf-8")
    program = [sys.executable, "-m", "transduce", "translate", "--model", directory, "--beam", "1"]
    subprocess.run([*program, "--input", source, "--output", target], check=True)
    assert target.read_bytes().count(b"\n") == 2


def test_arguments_standard_input_and_a_file_give_the_same(directory, tmp_path) -> None:
    texts = [source for source, _ in pairs(6)]
    model = ["--model", directory]
    expected = run("translate", *model, *texts)
    assert run("translate", *model, text="\n".join(texts)) == expected
    (tmp_path / "in.gz").write_bytes(gzip.compress("\n".join(texts).encode()))
    assert run("translate", *model, "--input", tmp_path / "in.gz") == expected
    run("translate", *model, "--input", tmp_path / "in.gz", "--output", tmp_path / "out")
    assert (tmp_path / "out").read_text("utf-8").splitlines() == expected


def test_a_half_written_output_is_continued(directory, tmp_path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("\n".join(s for s, _ in pairs(12)) + "\n", "utf-8")
    words = ["translate", "--model", directory, "--input", source, "--output", target]
    run(*words)
    whole = target.read_bytes()
    lines = whole.splitlines(keepends=True)
    target.write_bytes(b"KEPT\n" + b"".join(lines[1:9]) + lines[9][:2])
    run(*words, "--resume")
    assert target.read_bytes() == b"KEPT\n" + b"".join(lines[1:])
    run(*words)
    assert target.read_bytes() == whole


def test_a_complete_output_of_another_input_is_not_resumed(directory, tmp_path) -> None:
    texts = [source for source, _ in pairs(12)]
    source, target = write(tmp_path / "in", texts[:6]), tmp_path / "out"
    words = ["translate", "--model", directory, "--input", source, "--output", target, "--json"]
    run(*words)
    before = target.read_bytes()
    write(source, texts[6:])
    assert complaint(*words, "--resume") == (
        f"transduce: the last lines of {target} are not what this command makes of the same "
        "lines of the input: repeat the command that made them, or add --restart"
    )
    assert target.read_bytes() == before
    write(source, texts)
    run(*words, "--resume")
    assert [json.loads(line)["text"] for line in target.read_text("utf-8").splitlines()] == texts


def test_json_lines_have_the_fields_that_scripts_rely_on(directory) -> None:
    given = ['{"text": "a dog sleeps", "id": 7, "tags": ["x"]}', "a cat sleeps", "{no: json}"]
    lines = run("translate", "--model", directory, "--json", "--n-best", 2, text="\n".join(given))
    first, second, third = map(json.loads, lines)
    assert (first["id"], first["tags"], first["text"]) == (7, ["x"], "a dog sleeps")
    assert second["text"] == "a cat sleeps"
    assert third["text"] == "{no: json}"
    for entry in (first, second, third):
        assert {"text", "translation", "score", "tokens", "flags", "alternatives"} <= set(entry)
        assert entry["score"] < 0
        assert len(entry["alternatives"]) == 2


def test_a_json_line_without_text_is_flagged_and_not_translated(directory) -> None:
    given = ['{"id": 1}', '{"id": 2, "text": 5}', '{"id": 3, "text": "a dog"}', '{"text": null}']
    words = ["translate", "--model", directory, "--json"]
    lines = [json.loads(line) for line in run(*words, text="\n".join(given))]
    assert [line["flags"] == ["no-text"] for line in lines] == [True, True, False, True]
    assert "no-text" not in lines[2]["flags"]
    assert [line.get("text") for line in lines] == [None, 5, "a dog", None]
    assert [line.get("id") for line in lines] == [1, 2, 3, None]
    for line in (lines[0], lines[1], lines[3]):
        assert (line["translation"], line["tokens"], line["token_scores"]) == ("", [], [])
    assert lines[2]["translation"]


def test_n_best_has_a_line_for_each_alternative(directory) -> None:
    lines = run("translate", "--model", directory, "--n-best", 3, "a dog sleeps", "a cat sleeps")
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "0", "1", "1", "1"]
    assert all(float(line.split(" ||| ")[2]) < 0 for line in lines)


def test_score_prints_the_score_that_translate_prints(tmp_path) -> None:
    directory = model_directory(tmp_path / "terse", eos=6.0)
    texts = [source for source, _ in pairs(60)]
    words = ["--model", directory, "--engine", "torch", "--json"]
    translated = [json.loads(line) for line in run("translate", *words, *texts)]
    tokenizer = load_tokenizer(directory)
    kept = [
        entry
        for entry in translated  # whose text is encoded to the same tokens again
        if tokenizer.encode(entry["translation"])
        == [tokenizer.vocabulary.index(token) for token in entry["tokens"]]
        and len(entry["token_scores"]) > len(entry["tokens"])
    ]
    assert kept
    (tmp_path / "a").write_text("".join(e["text"] + "\n" for e in kept), "utf-8")
    (tmp_path / "b").write_text("".join(e["translation"] + "\n" for e in kept), "utf-8")
    for entry, line in zip(kept, run("score", tmp_path / "a", tmp_path / "b", *words), strict=True):
        scored = json.loads(line)
        assert scored["score"] == pytest.approx(entry["score"], abs=1e-4)
        assert scored["log_prob"] == pytest.approx(sum(scored["token_scores"]), abs=1e-5)
        # a geometric mean: this many tokens of it are as likely as the translation
        count = len(entry["tokens"]) + 1
        assert math.log(scored["perplexity"]) * count == pytest.approx(-scored["log_prob"])
        assert scored["per_token"] * count == pytest.approx(scored["log_prob"])
        assert scored["flags"] == []
    plain = run("score", tmp_path / "a", tmp_path / "b", *words[:-1])
    assert [float(value) for value in plain[-1].split("\t")] == pytest.approx(
        [scored[key] for key in ("log_prob", "per_token", "perplexity", "score")], abs=1e-5
    )


def test_score_reads_files_that_have_both_sides(directory, tmp_path) -> None:
    some = list(pairs(20))
    files = [
        write(tmp_path / name, side)
        for name, side in zip("ab", zip(*some, strict=True), strict=True)
    ]
    tsv = write(tmp_path / "pairs.tsv", ["\t".join(pair) for pair in some])
    keys = ("text", "translation")  # as `translate --json` writes them
    lines = [json.dumps(dict(zip(keys, pair, strict=True))) for pair in some]
    expected = run("score", *files, "--model", directory)
    assert run("score", tsv, "--model", directory) == expected
    jsonl = write(tmp_path / "pairs.jsonl", lines)
    assert run("score", jsonl, "--model", directory) == expected


def test_score_gives_a_line_of_any_length_its_score(directory, tmp_path) -> None:
    sources, targets = long_pairs()
    files = [write(tmp_path / "a", sources), write(tmp_path / "b", targets)]
    words = [*files, "--model", directory, "--json", "--compute", "float32"]
    fast, slow = (
        [json.loads(line) for line in run("score", *words, "--engine", engine)]
        for engine in ("ctranslate2", "torch")
    )
    assert len(fast[1]["token_scores"]) > 1024
    for ours, theirs in zip(fast, slow, strict=True):
        assert ours["log_prob"] == pytest.approx(theirs["log_prob"], rel=1e-4)
    assert fast[1]["log_prob"] == slow[1]["log_prob"]


def test_score_flags_a_line_that_a_model_with_learned_positions_cannot_take(tmp_path) -> None:
    model = model_directory(tmp_path / "model", positions="learned", max_positions=128)
    sources, targets = long_pairs()
    files = [write(tmp_path / "a", sources), write(tmp_path / "b", targets)]
    words = ["score", *files, "--model", model]
    for engine in ("torch", "ctranslate2"):
        lines = [json.loads(line) for line in run(*words, "--engine", engine, "--json")]
        assert [entry["flags"] for entry in lines] == [[], ["length"], []]
        assert [lines[1][key] for key in ("log_prob", "perplexity", "score")] == [None] * 3
        assert lines[0]["log_prob"] < 0
    assert run(*words)[1] == "nan\tnan\tnan\tnan"


def test_evaluate_translates_and_scores_a_line_of_any_length(directory, tmp_path) -> None:
    sources, targets = long_pairs()
    files = [write(tmp_path / "a", sources), write(tmp_path / "b", targets)]
    facts = json.loads("".join(run("evaluate", *files, "--model", directory, "--json")))
    assert facts["flags"]["split"] == 1
    assert facts["perplexity"] > 1


def test_json_nested_too_deeply_is_translated_as_text_and_unpaired_surrogates_are_kept(
    directory,
) -> None:
    deep = '{"text": "a dog", "x": ' + "[" * 3000 + "]" * 3000 + "}"
    nested = '{"text": "a dog", "x": ' + "[" * 500 + "]" * 500 + "}"
    given = ['{"text": "a dog", "id": "\\ud800", "\\udfff": 1}', deep, nested, '{"text": "a dog"}']
    lines = run("translate", "--model", directory, "--beam", 1, "--json", text="\n".join(given))
    lone, *rest = [json.loads(line) for line in lines]
    assert (lone["text"], lone["id"], lone["\udfff"]) == ("a dog", "\ud800", 1)
    assert [entry["text"] for entry in rest] == [deep, nested, "a dog"]
    assert rest[-1]["translation"] == lone["translation"]


def test_an_argument_that_is_not_utf8_is_translated(directory) -> None:
    (line,) = run("translate", "--model", directory, "--json", "caf\udce9", "--prefix", "\udce9")
    assert json.loads(line)["text"] == "caf\udce9"


def test_a_line_from_a_pipe_is_answered_before_the_next_one_is_sent(directory) -> None:
    program = [sys.executable, "-m", "transduce", "translate", "--model", directory]
    texts = [source for source, _ in pairs(3)]
    expected = run("translate", "--model", directory, *texts)
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for text, translation in zip(texts, expected, strict=True):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 60)[0]
            assert os.read(process.stdout.fileno(), 10_000).decode() == f"{translation}\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_mistakes_are_one_clear_line(directory, tmp_path) -> None:
    model = ["--model", directory]
    assert complaint("translate", "--model", tmp_path / "none", "x") == (
        f"transduce: no model directory {tmp_path / 'none'}"
    )
    assert complaint("translate", *model, "--input", tmp_path / "none") == (
        f"transduce: there is no file {tmp_path / 'none'}"
    )
    assert complaint("translate", *model, "--input", "x", "y") == (
        "transduce: TEXT and --input are both given: translate one or the other"
    )
    assert complaint("translate", *model, "--resume", "x") == (
        "transduce: --resume continues a file: name it with --output"
    )
    assert complaint("translate", *model, "--n-best", 5, "x") == (
        "transduce: --n-best 5 needs a beam at least as wide: add --beam 5"
    )
    for engine in ("auto", "torch", "ctranslate2"):
        if not torch.cuda.is_available():
            printed = complaint("translate", *model, "x", "--engine", engine, "--device", "cuda")
            assert printed.endswith("finds no CUDA device here: use --device cpu")
    assert complaint("translate", *model, "--engine", "torch", "--compute", "int8", "x") == (
        "transduce: the torch engine computes in float32, not int8"
    )
    assert complaint("translate", *model, "--alignments", "x") == (
        "transduce: --alignments are a field of the JSON output: add --json"
    )


def test_translating_with_a_ready_engine_never_loads_torch(directory) -> None:
    open_engine(ModelDirectory.open(directory))
    program = (
        "import sys; from transduce.cli import main\n"
        f"try: main(['translate', '--model', {str(directory)!r}, 'a dog sleeps'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
