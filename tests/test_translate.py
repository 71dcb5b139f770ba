"""`transduce translate` and `transduce score`: any text."""

import gzip
import json
import math
import os
import random
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.engines.torch_engine import TorchEngine
from transduce.search import Hypothesis, Search
from transduce.search.constraints import Never
from transduce.tokenizer import load_tokenizer
from transduce.translate.join import Found
from transduce.translate.options import DEFAULTS, TranslateOptions
from transduce.translate.plan import Plan, Unit
from transduce.translate.traits import Traits
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


@pytest.fixture
def scripted(directory):
    """A translator whose engine always finds the same translation."""
    tokenizer = load_tokenizer(directory)
    return Translator(tokenizer, Script(tokenizer, ["der Hund sieht die Katze"], ["nein"]))


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


def test_a_list_of_texts_becomes_a_list_of_as_many_texts(translator) -> None:
    texts = [source for source, _ in pairs(20)]
    found = translator.translate(["", *texts, "  \n "])
    assert len(found) == 22
    assert found[0] == found[-1] == ""
    assert all(found[1:-1])


def test_a_translation_is_independent_of_the_batch(translator) -> None:
    texts = [source for source, _ in pairs(8)]
    alone = translator.translate(texts, TranslateOptions(batch_size=1))
    assert translator.translate(texts, TranslateOptions(batch_size=3)) == alone
    order = list(range(8))
    random.Random(1).shuffle(order)
    assert translator.translate([texts[i] for i in order]) == [alone[i] for i in order]
    assert translator.translate(texts * 2) == alone * 2
    assert [r.translation for r in translator.stream(iter(texts), chunk=5)] == alone


@pytest.mark.parametrize("n_best", [1, 3])
def test_scores_are_those_that_score_gives(translator, n_best) -> None:
    texts = [source for source, _ in pairs(15)]
    options = TranslateOptions(Search(n_best=n_best, penalty="none"), scores=True)
    for text, result in zip(texts, translator.results(texts, options), strict=True):
        assert len(result.alternatives) == n_best
        assert result.alternatives[0].translation == result.translation
        for one in result.alternatives:
            if len(one.token_scores) == len(one.tokens):
                continue  # cut at its limit
            assert one.score == pytest.approx(sum(one.token_scores), abs=1e-4)
            # the text may be encoded to other tokens than were found, so their ids are scored
            ids = [translator.tokenizer.target_vocabulary.index(token) for token in one.tokens]
            source = translator.tokenizer.encode(text)
            (log_probs,) = translator.engine.score([source], [ids])
            assert one.token_scores == pytest.approx(log_probs, abs=1e-4)


def test_a_text_that_is_too_long_is_translated_in_pieces_that_fit(translator) -> None:
    text = "  ".join(source for source, _ in pairs(12))
    whole = TranslateOptions(by_sentence=False)
    (plan,) = translator.plan([text], whole)
    assert "".join(unit.text + after for unit, after in plan.parts) == text
    assert max(len(unit.ids) for unit, _ in plan.parts) <= translator.max_length
    (result,) = translator.results([text], whole)
    alone = translator.results([unit.text for unit, _ in plan.parts], whole)
    assert result.translation == "  ".join(piece.translation for piece in alone)
    assert set(result.flags) == {"split", *(flag for piece in alone for flag in piece.flags)}


def test_a_text_that_fits_is_one_unit_and_a_blank_one_none(scripted) -> None:
    dog = "a dog sleeps"
    whole = Unit(dog, tuple(scripted.tokenizer.encode(dog)))
    texts = [dog, f"\t{dog}\x00", " \u200b"]
    assert scripted.plan(texts) == [
        Plan(dog, ((whole, ""),)),
        Plan(texts[1], ((whole, ""),)),
        Plan(texts[2]),
    ]


def test_the_prefix_is_that_of_the_first_unit(scripted) -> None:
    options = TranslateOptions(by_sentence=True, prefix="Der Hund")
    (plan,) = scripted.plan(["A dog sleeps.  A cat sleeps. A bird."], options)
    ids = tuple(scripted.tokenizer.encode("Der Hund"))
    assert [unit.prefix for unit, _ in plan.parts] == [ids, (), ()]
    assert [after for _, after in plan.parts] == ["  ", " ", ""]


def test_units_that_several_texts_share_are_searched_once(scripted) -> None:
    plans = scripted.plan(["the dog sees the cat", " the dog sees the cat", "the cat sleeps"])
    found = scripted.search(plans)
    assert scripted.engine.sources == [unit.ids for unit in found]
    assert [unit.text for unit in found] == ["the dog sees the cat", "the cat sleeps"]


def test_joined_units_are_one_translation_with_the_score_of_all_their_tokens(scripted) -> None:
    def found(text, log_prob, *flags, alignment=()):
        tokens = tuple(scripted.tokenizer.encode(text))
        return Found((Hypothesis(tokens, log_prob, 0.0),), (text,), flags, alignment)

    units = [Unit("two words", (5,)), Unit("one", (6,))]
    of = {
        units[0]: found("zwei Worte", -3.0, "cut", "copy", alignment=((0, 0), (1, 1))),
        units[1]: found("eins", -1.0, "copy", alignment=((0, 0),)),
    }
    plan = Plan("two words\n one", ((units[0], "\n "), (units[1], "")), split=True)
    unpenalised = TranslateOptions(Search(penalty="none"))
    (joined,) = scripted.join([plan], of, unpenalised)
    assert joined.translation == "zwei Worte  eins"
    assert joined.score == -4.0
    assert joined.flags == ("cut", "copy", "split")
    assert joined.alignment == "0-0 1-1 2-2"
    (averaged,) = scripted.join([plan], of, TranslateOptions(Search(penalty="average", alpha=1.0)))
    assert averaged.score == pytest.approx(-4.0 / (len(joined.tokens) + 2))
    assert scripted.join([Plan(" ")], of)[0].translation == ""


def test_by_sentence_equals_translating_each_sentence_alone(translator) -> None:
    sentences = [s for s, _ in pairs(40) if s.endswith((".", "?"))][:4]
    options = TranslateOptions(by_sentence=True)
    (result,) = translator.results(["  ".join(sentences)], options)
    assert result.translation == "  ".join(translator.translate(sentences))


def test_a_prefix_begins_the_translation(translator) -> None:
    texts = [source for source, _ in pairs(5)]
    for translation in translator.translate(texts, TranslateOptions(prefix="Der Hund")):
        assert translation.startswith("Der Hund")


def test_prefixes_and_alignments_load_the_network_once(directory, monkeypatch) -> None:
    opened = []
    start = TorchEngine.__init__
    monkeypatch.setattr(
        TorchEngine, "__init__", lambda self, *given: opened.append(1) or start(self, *given)
    )
    translator = Translator.load(directory, engine="ctranslate2")
    texts = [source for source, _ in pairs(3)]
    options = TranslateOptions(prefix="Der Hund", alignments=True)
    assert len({tuple(translator.translate(texts, options)) for _ in range(3)}) == 1
    assert opened == [1]


def test_calls_from_several_threads_give_what_each_gives_alone(translator) -> None:
    texts = [source for source, _ in pairs(24)]
    jobs = [(texts[i::6], replace(DEFAULTS, scores=i % 2 == 0)) for i in range(6)]
    jobs += [(texts[:4], TranslateOptions(Search(beam=2), prefix="Der"))] * 2
    alone = [translator.results(*job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: translator.results(*job), jobs * 2))
    assert [[r.translation for r in results] for results in together] == [
        [r.translation for r in results] for results in alone * 2
    ]


def test_what_a_constraint_excludes_is_never_written(translator) -> None:
    texts = [source for source, _ in pairs(4)]
    free = [set(translator.tokenizer.encode(t)) for t in translator.translate(texts)]
    banned = {text: Never(sorted(ids)) for text, ids in zip(texts[:2], free, strict=False)}

    def constraint(text):
        return (lambda _: banned[text]) if text in banned else None

    found = translator.results(texts, TranslateOptions(constraint=constraint))
    vocabulary = translator.tokenizer.target_vocabulary
    for text, result in zip(texts[:2], found, strict=False):
        assert not set(result.tokens) & {vocabulary[i] for i in banned[text].tokens}
    assert [r.translation for r in found[2:]] == translator.translate(texts[2:])


def test_alignments_refer_to_existing_words(translator) -> None:
    texts = [source for source, _ in pairs(10)]
    results = translator.results(texts, TranslateOptions(alignments=True))
    for text, result in zip(texts, results, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in result.alignment.split()]
        assert all(0 <= i < len(text.split()) for i, _ in links)
        assert {j for _, j in links} <= set(range(len(result.translation.split()) + 1))
        assert links == sorted(links)


class Script:
    """An engine with fixed outputs: `first`, and `repaired` for a search without repeats."""

    name, compute, device = "script", "float32", "cpu"

    def unsupported(self, request):
        return None

    def __init__(self, tokenizer, first, repaired):
        self.first, self.repaired = (
            [Hypothesis(tuple(tokenizer.encode(text)), -1.0, -1.0) for text in texts]
            for texts in (first, repaired)
        )
        self.searches = []

    def search(self, requests, batch_size=64):
        self.sources = [request.source for request in requests]
        self.searches.append(requests[0].search)
        return [self.repaired if r.search.no_repeat else self.first for r in requests]

    def score(self, sources, targets, batch_size=64):
        return [(-1.0,) * (len(target) + 1) for target in targets]


LOOP = "der Hund der Hund der Hund der Hund der Hund der Hund der Hund"


@pytest.mark.parametrize(
    ("first", "flag"),
    [
        (LOOP, "repetition"),
        ("", "empty"),
        ("the old dog sees the big cat", "copy"),
        (" ".join(f"w{i}" for i in range(200)), "length"),
    ],
)
def test_a_bad_translation_is_searched_again_and_flagged(directory, first, flag) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, [first], [first, "der alte Hund sieht die Katze"])
    (result,) = Translator(tokenizer, engine).results(["the old dog sees the big cat"])
    assert result.translation == "der alte Hund sieht die Katze"
    assert result.flags == (flag, "repaired")
    assert engine.searches[1].beam >= 8
    assert engine.searches[1].no_repeat


def test_a_translation_that_cannot_be_repaired_is_kept_and_flagged(directory) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, [LOOP], [LOOP, LOOP])
    (result,) = Translator(tokenizer, engine).results(["the old dog sees the big cat"])
    assert result.translation == LOOP
    assert result.flags == ("repetition",)


def test_a_good_translation_is_searched_once(scripted) -> None:
    (result,) = scripted.results(["the dog sees the cat"])
    assert (result.flags, len(scripted.engine.searches)) == ((), 1)


class Copier(Script):
    """An engine that writes the source, with what it cannot write replaced."""

    def __init__(self, tokenizer, **replaced):
        self.tokenizer, self.replaced, self.searches = tokenizer, replaced, []

    def search(self, requests, batch_size=64):
        self.searches += [self.tokenizer.decode(request.source) for request in requests]
        return [[self._hypothesis(self.tokenizer.decode(r.source))] for r in requests]

    def _hypothesis(self, text):
        for known, written in self.replaced.items():
            text = text.replace(known.replace("_", "."), written)
        return Hypothesis(tuple(self.tokenizer.encode(text.replace("the", "der"))), -1.0, -1.0)


def copier(directory, **replaced):
    tokenizer = load_tokenizer(directory)
    return Translator(tokenizer, Copier(tokenizer, **replaced), traits=Traits("en", "de"))


def test_a_wrong_number_is_replaced_by_that_of_the_source(directory) -> None:
    translator = copier(directory, **{"365": "35"})
    (result,) = translator.results(["the dog has 365 cats"])
    assert result.translation == "der dog has 365 cats"
    assert result.flags == ("missing", "inserted")
    ids = [translator.tokenizer.target_vocabulary.index(token) for token in result.tokens]
    assert translator.tokenizer.decode(ids) == result.translation


def test_a_lost_address_is_inserted_where_a_placeholder_was(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing"})
    (result,) = translator.results(["the dog sees a@b.org here"])
    assert result.translation == "der dog sees a@b.org here"
    assert result.flags == ("missing", "inserted")
    assert any("Tom" in source for source in translator.engine.searches)


PLACEHOLDERS = dict.fromkeys(("Tom", "Boston", "Paris", "Maria"), "x")


def test_an_address_without_a_place_is_appended(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing", **PLACEHOLDERS})
    (result,) = translator.results(["the dog sees a@b.org here"])
    assert result.translation == "der dog sees nothing here (a@b.org)"
    assert result.flags == ("missing", "inserted")


def test_a_number_without_a_place_is_flagged_and_changes_nothing(directory) -> None:
    numbers = dict.fromkeys(("365", "20", "100", "10", "60", "7"), "y")
    translator = copier(directory, **numbers)
    (result,) = translator.results(["the dog sees 365 cats"])
    assert (result.translation, result.flags) == ("der dog sees y cats", ("missing",))
    unknown = Translator(translator.tokenizer, copier(directory, **{"365": "35"}).engine)
    (result,) = unknown.results(["the dog sees 365 cats"])  # of languages that are not known
    assert (result.translation, result.flags) == ("der dog sees 35 cats", ("missing",))


def test_insertions_are_independent_of_the_batch(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing", "365": "35"})
    texts = ["the dog sees a@b.org", "the 365 cats", "the dog", "the 365 dogs at 7:45"]
    alone = [translator.results([text])[0] for text in texts]
    assert translator.results(texts) == alone
    assert translator.results(texts[::-1]) == alone[::-1]


def test_another_language_and_a_low_score_are_flagged_but_not_searched_again(directory) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, ["der Hund sieht die Katze"], ["nein"])
    translator = Translator(tokenizer, engine, traits=Traits("en", "de", low_score=-0.01))
    (result,) = translator.results(["Wo ist der Hund und warum?"])
    assert (result.flags, len(engine.searches)) == (("language", "low-score"), 1)


def test_a_model_trained_on_several_sentences_per_line_translates_lines_whole(directory) -> None:
    tokenizer = load_tokenizer(directory)
    text = "A dog sleeps. A cat sleeps."
    for per_line, units in ((1.0, 2), (1.2, 2), (1.3, 1), (4.0, 1)):
        traits = Traits(sentences_per_line=per_line)
        translator = Translator(tokenizer, Script(tokenizer, ["x"], ["y"]), traits=traits)
        (plan,) = translator.plan([text])
        assert (len(plan.parts), plan.split) == (units, False)
        for chosen, count in ((True, 2), (False, 1)):
            (plan,) = translator.plan([text], TranslateOptions(by_sentence=chosen))
            assert len(plan.parts) == count


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


def write(file, lines):
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def long_pairs():
    """A line of more tokens than the fast engine takes between two short ones."""
    sources, targets = map(list, zip(*pairs(90), strict=True))
    return [sources[0], " ".join(sources), sources[1]], [targets[0], " ".join(targets), targets[1]]


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


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_source_as_long_as_learned_positions_has_a_translation(tmp_path, engine) -> None:
    model = model_directory(tmp_path / "model", positions="learned", max_positions=62, eos=-9.0)
    translator = Translator.load(model, engine=engine)
    (result,) = translator.results([" ".join(source for source, _ in pairs(8))])
    assert result.translation


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
