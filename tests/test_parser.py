"""The grammar constraint and the parser: always one tree over exactly the words."""

import itertools
import json
import shutil

import digits
import pytest
import torch
from click.testing import CliRunner
from models import model_directory
from serving import running

from transduce import model_names
from transduce.cli import main
from transduce.config import DataConfig, ModelConfig, resolve
from transduce.errors import InputError, ModelError
from transduce.log import silent
from transduce.model import build_network
from transduce.parsing.grammar import Symbols, TreeGrammar
from transduce.parsing.linear import NO_TAG, tree_of
from transduce.parsing.parser import PARSING, Parser
from transduce.parsing.tree import escape, leaves, words
from transduce.parsing.treebank import read_trees
from transduce.search import Search
from transduce.serve.models import Models
from transduce.serve.settings import ServeConfig
from transduce.tasks.parsing import Parsing
from transduce.tokenizer import SymbolTokenizer

ORDERS = ["top-down", "in-order"]
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>", "⟨", "→"]
VOCABULARY = [*SPECIALS, "⟨A", "⟨B", "⟩A", "⟩B", "→w"]
EOS = 2
CPU = torch.device("cpu")


def every_tree(vocabulary, count, longest, order, tags):
    """All sequences of at most so many symbols that are a tree over so many words, as ids."""
    ids = {s: i for i, s in enumerate(vocabulary) if len(s) == 2 and s != "→w"}
    for length in range(longest + 1):
        for symbols in itertools.product([*ids, "→w"], repeat=length):
            if symbols.count("→w") != count + 1:
                continue
            try:
                tree = tree_of(symbols, ["w"] * count, order)
            except ValueError:
                continue
            if not tags or all(leaf.tag != NO_TAG for leaf in leaves(tree)):
                yield tuple(vocabulary.index(symbol) for symbol in symbols)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tag", ["", "•X", "•,"])
@pytest.mark.parametrize(("count", "limit"), [(1, 5), (1, 7), (2, 6), (2, 8), (3, 7)])
def test_the_grammar_allows_exactly_the_prefixes_of_trees_that_fit_the_limit(
    order, tag, count, limit
) -> None:
    vocabulary = [*VOCABULARY, tag] if tag else VOCABULARY
    required = tag == "•X"
    found = every_tree(vocabulary, count, limit - 1, order, required)
    trees = {(*tree, EOS) for tree in found}
    follows = {}
    for tree in trees:
        for i, token in enumerate(tree):
            follows.setdefault(tree[:i], set()).add(token)
    if not trees:
        assert limit < count * (1 + required) + 4
        return
    symbols, name = Symbols.of(vocabulary, EOS, order), vocabulary.index("→w")
    waiting = [((), TreeGrammar.start(symbols, [[name] * (count + 1)], [limit], CPU))]
    seen = set()
    while waiting:
        prefix, grammar = waiting.pop()
        seen.add(prefix)
        allowed = set(grammar.allowed()[0].nonzero().flatten().tolist())
        assert allowed == follows[prefix], [vocabulary[i] for i in prefix]
        for token in allowed - {EOS}:
            after = grammar.after(torch.tensor([0]), torch.tensor([token]))
            waiting.append(((*prefix, token), after))
    assert seen == set(follows)


SENTENCES = [
    "the dog runs .",
    "a",
    "",
    "( ( [ ] ) ⟨NP •NN ⟩S -LRB- {",
    "🙂 👩‍👩‍👧 naïve ▁ \x10 ‮ ﷽ 漢字",
    " ".join(f"w{i}" for i in range(300)),
    "S" * 500,
    "</s> <s> <pad> <unk>",
]


def random_parser(tmp_path, seed, order, tags=True, **settings):
    torch.manual_seed(seed)
    text = "(S (NP (DT a) (NN dog)) (VP (HYPH -))) (TOP (. .))"
    (tmp_path / "trees").write_text(text, "utf-8")
    task = Parsing(linearisation=order, pos_tags=tags)
    examples = task.read(task.text_of([tmp_path / "trees"]))
    tokenizer = task.learn_tokenizer(
        examples, DataConfig(vocab_size=400), tmp_path / "tokens.model", (), silent
    )
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size,
        target_vocab_size=tokenizer.target_vocab_size,
        share_embeddings="target",
        d_model=16,
        d_ff=32,
        n_heads=2,
        n_layers=1,
        **settings,
    )
    return Parser(tokenizer, build_network(config), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("beam", [1, 5])
def test_any_model_gives_one_tree_over_exactly_the_words_of_any_input(
    tmp_path, order, beam
) -> None:
    seed = torch.seed() % 2**32
    parser = random_parser(tmp_path, seed, order, tags=bool(seed % 2))
    sentences = [text.split(" ") if text else [] for text in SENTENCES]
    search = Search(beam=beam, alpha=0.3, extra_length=300)
    for sentence, parse in zip(sentences, parser.parse(sentences, search), strict=True):
        if not sentence:
            assert parse is None
            continue
        assert parse is not None
        assert words(parse.tree) == sentence, seed
        assert parse.tree.label == "TOP"


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "recurrent", "d_recurrent": 16},
        {"kind": "convolutional", "positions": "learned", "max_positions": 100},
        {"positions": "learned", "max_positions": 100},
    ],
    ids=lambda settings: settings.get("kind", "transformer"),
)
def test_every_kind_of_network_parses(tmp_path, settings) -> None:
    parser = random_parser(tmp_path, 1, "top-down", **settings)
    sentences = [["a", "dog"], ["w"] * 40, ["."]]
    found = parser.parse(sentences, Search(beam=3, alpha=0.3, extra_length=300))
    assert [words(parse.tree) for parse in found] == sentences
    if "max_positions" in settings:
        with pytest.raises(InputError, match=r"60 words is too long .* 100 learned positions"):
            parser.parse([["w"] * 60], PARSING)


@pytest.mark.parametrize("order", ORDERS)
def test_a_tree_does_not_depend_on_the_other_sentences(tmp_path, order) -> None:
    parser = random_parser(tmp_path, 3, order)
    sentences = [f"{'word ' * n}{n}".split() for n in (3, 1, 12, 7, 2, 9)]
    together = parser.parse(sentences, PARSING)
    alone = [parser.parse([sentence], PARSING)[0] for sentence in sentences]
    assert [parse.tree for parse in together] == [parse.tree for parse in alone]


def test_the_target_vocabulary_is_symbols_and_unknown_labels_keep_their_kind(tmp_path) -> None:
    tokenizer = random_parser(tmp_path, 1, "top-down").tokenizer
    symbols = sorted(symbol for symbol in tokenizer.target_vocabulary[4:] if symbol[0] != "→")
    assert " ".join(symbols) == "• •. •DT •HYPH •NN ⟨ ⟨NP ⟨S ⟨TOP ⟨VP ⟩ ⟩NP ⟩S ⟩TOP ⟩VP"
    ids = tokenizer.encode_targets(["⟨NEW •DT ⟩NEW"])[0]
    assert [tokenizer.target_vocabulary[i] for i in ids] == ["⟨", "•DT", "⟩"]
    reread = SymbolTokenizer.load(tmp_path / "tokens.model")
    assert reread.target_vocabulary == tokenizer.target_vocabulary


def test_the_search_settings_are_the_papers() -> None:
    assert (PARSING.beam, PARSING.alpha, PARSING.limit(20)) == (21, 0.3, 320)


def test_the_preset_is_the_papers_parser() -> None:
    config = resolve("parsing")
    assert (config.model.n_layers, config.model.d_model) == (4, 1024)
    assert config.data.vocab_size == 16_000
    assert config.model.p_drop == config.model.p_drop_attention == 0.2
    assert config.train.label_smoothing == 0.1


TREES = [
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))",
    "( (S (NP-SBJ (DT a) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .)))",
    "(TOP (NP (NP (NN dog)) (PP (IN of) (NP (DT the) (NN cat)))))",
]
SETTINGS = digits.settings(
    "data.vocab_size=460",
    "model.d_model=64",
    "model.d_ff=128",
    "model.n_heads=2",
    "model.n_layers=1",
    "model.p_drop=0.0",
    "train.steps=120",
    "train.tokens_per_batch=120",
    "train.warmup_steps=40",
    "train.label_smoothing=0.0",
    "train.validate_steps=60",
    "train.checkpoint_steps=60",
    "train.average=1",
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that learned three trees by heart, in order."""
    place = tmp_path_factory.mktemp("parsing")
    (place / "train.mrg").write_text("\n".join(TREES * 4), "utf-8")
    files = ["--train", str(place / "train.mrg"), "--valid", str(place / "train.mrg")]
    run = ["train", str(place / "run"), "--task", "parsing", *files, "--preset", "parsing-small"]
    order = ["--set", "data.linearisation=in-order"]
    done = CliRunner().invoke(main, [*run, *order, *SETTINGS], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return place / "run", done.stderr


def parse(*arguments, stdin=None):
    return CliRunner().invoke(main, ["parse", *arguments], input=stdin, catch_exceptions=False)


def test_training_learns_trees_and_reports_f1_complete_match_and_perplexity(trained) -> None:
    run, log = trained
    assert "removed or changed: 4 function tags" in log
    lines = (run / "metrics.jsonl").read_text("utf-8").splitlines()
    final = [json.loads(line) for line in lines][-1]
    assert final["f1"] > 90
    assert final["complete_match"] > 60
    assert final["perplexity"] < 1.5
    config = json.loads((run / "model" / "config.json").read_text("utf-8"))
    assert (config["task"], config["linearisation"]) == ("parsing", "in-order")


def test_a_trained_model_parses_arguments_lines_tokens_and_treebanks(trained, tmp_path) -> None:
    model = ["--model", str(trained[0] / "model")]
    expected = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))"
    assert parse("the dog runs.", *model).stdout == expected + "\n"
    done = parse(*model, stdin="the dog runs.\n\nthe dog runs .\n")
    assert done.stdout == f"{expected}\n\n{expected}\n"
    assert " runs.)" in parse(*model, "--tokens", stdin="the dog runs.\n").stdout
    treebank = tmp_path / "t.mrg"
    treebank.write_text("\n".join(TREES), "utf-8")
    out = tmp_path / "out.mrg"
    assert parse(*model, "--trees", str(treebank), "--output", str(out)).exit_code == 0
    assert [words(tree) for tree in read_trees(out)] == [words(t) for t in read_trees(treebank)]
    fields = json.loads(parse("f(x) 🙂", *model, "--json").stdout)
    assert fields["words"] == ["f", "(", "x", ")", "🙂"]
    assert all(f" {escape(word)})" in fields["tree"] for word in fields["words"])
    assert fields["score"] < 0


def test_scores_pictures_and_indented_trees(trained, tmp_path, monkeypatch) -> None:
    model = ["--model", str(trained[0])]
    treebank, record = tmp_path / "t.mrg", tmp_path / "r.json"
    treebank.write_text("\n".join(TREES), "utf-8")
    files = ["--trees", str(treebank), "--output", str(tmp_path / "out.mrg")]
    done = parse(*model, *files, "--record", str(record), "--title", "Three")
    assert done.stderr.startswith("3 sentences in ")
    scores = json.loads(record.read_text("utf-8"))["scores"]
    assert f"F1 {scores['f1']:.2f}, complete match" in done.stderr
    options = ["--clean", "--gold-tags", "--json"]
    again = CliRunner().invoke(main, ["evalb", str(treebank), str(tmp_path / "out.mrg"), *options])
    assert json.loads(again.stdout)["f1"] == scores["f1"]
    for suffix in ("svg", "html"):
        file = tmp_path / f"tree.{suffix}"
        assert parse("the dog runs .", *model, "--output", str(file)).exit_code == 0
        assert file.read_text("utf-8").count(">dog</text>") == 1
    refused = parse(" ", *model, "--output", str(tmp_path / "x.svg"))
    assert refused.stderr == "transduce: there is no sentence to draw\n"


def test_training_can_start_from_a_parser(trained, tmp_path) -> None:
    run, files = trained[0], trained[0].parent / "train.mrg"
    words = ["train", str(tmp_path / "run"), "--task", "parsing", "--from", str(run / "model")]
    settings = digits.settings("train.steps=2", "train.lr_factor=0.001")
    done = CliRunner().invoke(
        main, [*words, "--train", str(files), "--valid", str(files), *settings]
    )
    assert done.exit_code == 0, done.stderr
    expected = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))\n"
    assert parse("the dog runs.", "--model", str(tmp_path / "run" / "model")).stdout == expected


@pytest.fixture
def bundled(trained, tmp_path, monkeypatch):
    """An installation whose only bundled model is a parser."""
    shutil.copytree(trained[0] / "model", tmp_path / "bundled" / "parse-en")
    monkeypatch.setattr(model_names, "BUNDLED", tmp_path / "bundled")
    return tmp_path / "bundled" / "parse-en"


def test_the_bundled_parser_is_the_default_and_no_translator(bundled, tmp_path) -> None:
    expected = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))\n"
    assert parse("the dog runs.").stdout == expected
    assert parse("the dog runs.", "--model", "parse-en").stdout == expected
    assert model_names.bundled_models() == {}
    with pytest.raises(ModelError, match="no bundled model"):  # a parser is served on request only
        Models(ServeConfig(), silent)


def test_a_served_parser_answers_with_trees(trained, tmp_path) -> None:
    with running(tmp_path, "--model", str(trained[0]), "--deadline", "60") as server:
        answer = server.post("/parse", q="the dog runs.", timeout=60)
        assert answer.status == 200, answer.body
        assert answer.json["tree"] == "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))"


def test_the_wrong_kind_of_model_or_input_is_one_sentence(trained, tmp_path, monkeypatch) -> None:
    run, _ = trained
    model = run / "model"
    translate = CliRunner().invoke(main, ["translate", "a", "--model", str(model)])
    assert translate.exit_code == 2
    assert translate.stderr == (
        f"transduce: {model} is a model for parsing, not for translation: "
        "use it with transduce parse\n"
    )
    translator = model_directory(tmp_path / "translator", shortlist=False)
    assert parse("a", "--model", str(translator)).stderr == (
        f"transduce: {translator} is a model for translation, not for parsing: "
        "use it with transduce translate\n"
    )
    info = CliRunner().invoke(main, ["info", str(model)])
    assert "engine torch" in info.stdout
    check = CliRunner().invoke(main, ["check", "--task", "parsing", "--train", "x.mrg"])
    assert check.stderr.startswith("transduce: transduce check examines sentence pairs, which the")
    export = ["export", "--to", "huggingface", str(tmp_path / "out"), "--model", str(model)]
    assert "not for translation" in CliRunner().invoke(main, export).stderr
    monkeypatch.setattr(model_names, "BUNDLED", tmp_path)
    done = parse("a")
    assert done.exit_code == 2
    assert done.stderr.startswith("transduce: there is no bundled parser: give one with --model")
    both = parse("a", "--trees", "x", "--model", str(model))
    assert both.stderr == "transduce: TEXT, --input and --trees: give only one of them\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n" * 16 + "(S (NN a)", "line 17, character 1: this bracket is never closed"),
        ("", "there are no trees in "),
    ],
)
def test_a_broken_treebank_is_one_sentence(tmp_path, text, message) -> None:
    file = tmp_path / "train.mrg"
    file.write_text(text, "utf-8")
    command = ["train", str(tmp_path / "run"), "--task", "parsing", "--train", str(file)]
    done = CliRunner().invoke(main, [*command, "--valid", str(file), "--preset", "parsing-small"])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
