"""`transduce translate` and `transduce score`: text to text, whatever the text is."""

import gzip
import json
import random
import subprocess
import sys

import pytest
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.loader import open_engine
from transduce.search import Hypothesis, Search
from transduce.tokenizer import load_tokenizer
from transduce.translate.translator import Translator

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


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def translator(request, directory):
    return Translator.load(directory, engine=request.param)


def run(*words, text=None):
    """The lines of standard output, after a run that ended well."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def complaint(*words, text=None):
    result = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert result.exit_code == 2
    assert result.stdout == ""
    return result.stderr.strip()


def test_a_list_of_texts_becomes_a_list_of_as_many_texts(translator) -> None:
    texts = [source for source, _ in pairs(20)]
    found = translator.translate(["", *texts, "  \n "])
    assert len(found) == 22
    assert found[0] == found[-1] == ""
    assert all(found[1:-1])


def test_a_text_is_translated_the_same_in_any_company(translator) -> None:
    texts = [source for source, _ in pairs(16)]
    alone = [r.translation for r in translator.results(texts, batch_size=1)]
    assert [r.translation for r in translator.results(texts, batch_size=7)] == alone
    order = list(range(16))
    random.Random(1).shuffle(order)
    assert translator.translate([texts[i] for i in order]) == [alone[i] for i in order]
    assert translator.translate(texts * 2) == alone * 2
    assert [r.translation for r in translator.stream(iter(texts), chunk=9)] == alone


@pytest.mark.parametrize("n_best", [1, 3])
def test_scores_are_those_that_score_gives(translator, n_best) -> None:
    texts = [source for source, _ in pairs(15)]
    search = Search(n_best=n_best, penalty="none")
    results = translator.results(texts, search, scores=True)
    for text, result in zip(texts, results, strict=True):
        assert len(result.alternatives) == n_best
        assert result.alternatives[0].translation == result.translation
        for one in result.alternatives:
            if len(one.token_scores) == len(one.tokens):
                continue  # cut at its limit
            assert one.score == pytest.approx(sum(one.token_scores), abs=1e-4)
            # what is written back as text may be cut into other tokens; the ids are what count
            ids = [translator.tokens.target_vocabulary.index(token) for token in one.tokens]
            source = translator.tokens.encode(text)
            (log_probs,) = translator.engine.score([source], [ids])
            assert one.token_scores == pytest.approx(log_probs, abs=1e-4)


def test_a_text_that_is_too_long_is_translated_in_pieces(translator) -> None:
    sentences = [source for source, _ in pairs(30)]
    (result,) = translator.results([" ".join(sentences)])
    assert "split" in result.flags
    words = [s for s in sentences if len(translator.tokens.encode(s)) > translator.max_length]
    assert not words
    assert len(result.translation) > 10 * len("a word")
    pieces = translator.results(sentences[:1])
    assert "split" not in pieces[0].flags


def test_by_sentence_is_as_if_each_stood_alone(translator) -> None:
    sentences = [s for s, _ in pairs(40) if s.endswith((".", "?"))][:4]
    (result,) = translator.results(["  ".join(sentences)], by_sentence=True)
    alone = translator.translate(sentences)
    assert result.translation == "  ".join(alone)


def test_a_prefix_begins_the_translation(translator) -> None:
    texts = [source for source, _ in pairs(5)]
    for result in translator.results(texts, prefix="Der Hund"):
        assert result.translation.startswith("Der Hund")


def test_alignments_name_words_that_are_there(translator) -> None:
    texts = [source for source, _ in pairs(10)]
    for text, result in zip(texts, translator.results(texts, alignments=True), strict=True):
        links = [tuple(map(int, link.split("-"))) for link in result.alignment.split()]
        assert all(0 <= i < len(text.split()) for i, _ in links)
        assert {j for _, j in links} <= set(range(len(result.translation.split()) + 1))
        assert links == sorted(links)


class Script:
    """An engine that says what it is told: at first one thing, when it is repaired another."""

    name = "script"

    def __init__(self, tokens, first, repaired):
        self.first, self.repaired = (
            [Hypothesis(tuple(tokens.encode(text)), -1.0, -1.0) for text in texts]
            for texts in (first, repaired)
        )
        self.searches = []

    def search(self, sources, search=Search(), prefixes=None, batch_size=64):  # noqa: B008
        self.searches.append(search)
        return [self.repaired if search.no_repeat else self.first for _ in sources]

    def score(self, sources, targets, batch_size=64):
        return [(-1.0,) * (len(target) + 1) for target in targets]


LOOP = "der Hund der Hund der Hund der Hund der Hund der Hund der Hund"


@pytest.mark.parametrize(
    ("first", "flag"),
    [
        (LOOP, "repetition"),
        ("", "empty"),
        ("the old dog sees the big cat", "copy"),
        ("Hund " + "sieht " * 0 + " ".join(f"w{i}" for i in range(200)), "length"),
    ],
)
def test_what_looks_wrong_is_searched_again_and_flagged(directory, first, flag) -> None:
    tokens = load_tokenizer(directory)
    engine = Script(tokens, [first], [first, "der alte Hund sieht die Katze"])
    (result,) = Translator(tokens, engine).results(["the old dog sees the big cat"])
    assert result.translation == "der alte Hund sieht die Katze"
    assert result.flags == (flag, "repaired")
    assert engine.searches[1].beam >= 8
    assert engine.searches[1].no_repeat


def test_what_cannot_be_repaired_is_kept_and_flagged(directory) -> None:
    tokens = load_tokenizer(directory)
    engine = Script(tokens, [LOOP], [LOOP, LOOP])
    (result,) = Translator(tokens, engine).results(["the old dog sees the big cat"])
    assert result.translation == LOOP
    assert result.flags == ("repetition",)


def test_what_looks_right_is_searched_once(directory) -> None:
    tokens = load_tokenizer(directory)
    engine = Script(tokens, ["der Hund sieht die Katze"], ["nein"])
    (result,) = Translator(tokens, engine).results(["the dog sees the cat"])
    assert (result.flags, len(engine.searches)) == ((), 1)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_hostile_lines_come_out_as_many_as_they_went_in(directory, tmp_path, engine) -> None:
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
    target.write_bytes(b"KEPT\n" + b"".join(lines[1:5]) + lines[5][:2])
    run(*words, "--resume")
    assert target.read_bytes() == b"KEPT\n" + b"".join(lines[1:])
    run(*words)
    assert target.read_bytes() == whole


def test_json_lines_have_the_fields_that_scripts_rely_on(directory) -> None:
    given = ['{"text": "a dog sleeps", "id": 7, "tags": ["x"]}', "a cat sleeps", '{"no": "text"}']
    lines = run("translate", "--model", directory, "--json", "--n-best", 2, text="\n".join(given))
    first, second, third = map(json.loads, lines)
    assert (first["id"], first["tags"], first["text"]) == (7, ["x"], "a dog sleeps")
    assert second["text"] == "a cat sleeps"
    assert third["text"] == '{"no": "text"}'
    for entry in (first, second, third):
        assert {"text", "translation", "score", "tokens", "flags", "alternatives"} <= set(entry)
        assert entry["score"] < 0
        assert len(entry["alternatives"]) == 2


def test_n_best_has_a_line_for_each_alternative(directory) -> None:
    lines = run("translate", "--model", directory, "--n-best", 3, "a dog sleeps", "a cat sleeps")
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "0", "1", "1", "1"]
    assert all(float(line.split(" ||| ")[2]) < 0 for line in lines)


def test_score_prints_the_score_that_translate_prints(tmp_path) -> None:
    directory = model_directory(tmp_path / "terse", eos=6.0)
    texts = [source for source, _ in pairs(60)]
    words = ["--model", directory, "--engine", "torch", "--json"]
    translated = [json.loads(line) for line in run("translate", *words, *texts)]
    tokens = load_tokenizer(directory)
    kept = [
        entry
        for entry in translated  # whose text is cut into the same tokens again
        if tokens.encode(entry["translation"])
        == [tokens.vocabulary.index(token) for token in entry["tokens"]]
        and len(entry["token_scores"]) > len(entry["tokens"])
    ]
    assert kept
    (tmp_path / "a").write_text("".join(e["text"] + "\n" for e in kept), "utf-8")
    (tmp_path / "b").write_text("".join(e["translation"] + "\n" for e in kept), "utf-8")
    for entry, line in zip(kept, run("score", tmp_path / "a", tmp_path / "b", *words), strict=True):
        scored = json.loads(line)
        assert scored["score"] == pytest.approx(entry["score"], abs=1e-4)
        assert scored["log_prob"] == pytest.approx(sum(scored["token_scores"]), abs=1e-5)
        assert scored["per_token"] == scored["log_prob"] / len(scored["token_scores"])
    plain = run("score", tmp_path / "a", tmp_path / "b", *words[:-1])
    assert float(plain[0].split("\t")[0]) == pytest.approx(
        json.loads(run("score", tmp_path / "a", tmp_path / "b", *words)[0])["log_prob"], abs=1e-5
    )


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
        "transduce: --resume goes on with a file: name it with --output"
    )
    assert complaint("translate", *model, "--n-best", 5, "x") == (
        "transduce: --n-best 5 needs a beam at least as wide: add --beam 5"
    )
    assert complaint("translate", *model, "--alignments", "x") == (
        "transduce: --alignments are a field of --json: add it"
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
