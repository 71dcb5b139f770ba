"""What the documents name exists, and README's commands work."""

import gzip
import importlib
import re
import shlex
import shutil
from pathlib import Path

import digits
import marian_files
import pytest
import torch
from click.testing import CliRunner

from transduce.cli import VERBS, main
from transduce.grammar import sentences

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "docs" / "paper.md").read_text("utf-8").partition("\n## The tables")[0]
ROWS = re.findall(
    r"^\| (.+?) \| .+ \| `(transduce\.[\w.]+)` \| `(test_\w+)\.(test_\w+)` \|$", PAPER, re.M
)


def test_the_map_of_the_paper_has_a_symbol_and_a_test_in_every_row() -> None:
    assert len(ROWS) == sum(line.startswith("| ") for line in PAPER.split("\n")) - 2


@pytest.mark.parametrize(("section", "symbol", "file", "test"), ROWS)
def test_every_symbol_and_test_of_the_map_exists(section, symbol, file, test) -> None:
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        break
    for name in parts[cut:]:
        found = getattr(found, name)
    assert f"def {test}(" in (ROOT / "tests" / f"{file}.py").read_text("utf-8")


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_link_to_a_file_leads_to_one_and_to_a_heading_in_it(document) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", document.read_text("utf-8"))
    for link in links:
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^(?:\$ )?(transduce .+?)(?: +#.*)?$", README, re.M)
BLOCKS = re.findall(r"```python\n(.+?)```", README, re.S)

# Only parsed: they take minutes. `make demo` runs the first, and the tests of `bench` the others
# with little to measure.
MINUTES = ("transduce train RUN", "transduce bench")

# What README leaves out, so that seconds suffice.
QUICKLY = {
    "train": digits.settings(
        "data.vocab_size=400",
        "model.d_model=32",
        "model.d_ff=64",
        "model.n_layers=1",
        "train.steps=2",
        "train.checkpoint_steps=1",
        "train.validate_steps=2",
        "train.bleu_sentences=2",
    ),
    "check": ["--no-timing", *digits.settings("data.vocab_size=400", "model.d_model=32")],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """The files that README's commands name, and a run and a checkpoint of Hugging Face."""
    place = tmp_path_factory.mktemp("readme")
    for name, split, count in (("train", "train", 300), ("valid", "valid", 5), ("test", "test", 3)):
        pairs = list(sentences(split, count, seed=1))
        for suffix, lines in (
            ("en", [pair.source for pair in pairs]),
            ("de", [pair.target for pair in pairs]),
        ):
            text = "".join(f"{line}\n" for line in lines)
            (place / f"{name}.{suffix}").write_text(text, "utf-8")
            zipped = {"valid": "val"}.get(name, name)
            (place / f"{zipped}.{suffix}.gz").write_bytes(gzip.compress(text.encode()))
    (place / "F").write_text("How are you?\n\nGood morning.\n", "utf-8")
    files = [str(place / name) for name in ("train.en", "train.de", "valid.en", "valid.de")]
    run = ["train", str(place / "RUN"), "--train", *files[:2], "--valid", *files[2:]]
    succeed(*run, "--preset", "tiny", *QUICKLY["train"])
    shutil.copyfile(place / "train.en", place / "book.txt")
    book = ["train", str(place / "LM"), "--task", "lm", "--train", str(place / "book.txt")]
    succeed(*book, *QUICKLY["train"])
    model = ["--model", str(place / "RUN/model")]
    succeed("export", "--to", "huggingface", str(place / "checkpoint"), *model)
    tree = "( (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))\n"
    for name, count in (("train", 60), ("valid", 3), ("parsed", 3)):
        (place / f"{name}.mrg").write_text(tree * count, "utf-8")
    files = ["--train", str(place / "train.mrg"), "--valid", str(place / "valid.mrg")]
    parser = ["train", str(place / "PARSER"), "--task", "parsing", *files]
    succeed(*parser, "--preset", "parsing-small", *QUICKLY["train"])
    return place


def succeed(*words: str) -> str:
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def takes_minutes(command: str) -> bool:
    """Or a network: the tests of `hf:` have a local one."""
    return command == MINUTES[0] or command.startswith(MINUTES[1]) or " hf:" in command


@pytest.mark.parametrize("command", [one for one in COMMANDS if not takes_minutes(one)])
def test_every_command_in_the_readme_that_takes_seconds_works(
    command, prepared, tmp_path, monkeypatch
) -> None:
    place = shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(place)
    verb, *words = shlex.split(command)[1:]
    if "marian" in words:
        marian_files.write_marian(place / "DIR")
    else:
        shutil.copytree("checkpoint" if verb == "import" else "RUN/model", "DIR")
    if verb == "train":
        shutil.rmtree(words[0])
    before = {path.name for path in place.iterdir()}
    printed = succeed(verb, *words, *QUICKLY.get(verb, []))
    made = {path.name for path in place.iterdir()} - before
    files = ("figure", "big.", "tree.", "scaling.")
    named = {
        word
        for word in words
        if word in ("OUT", "OUT.argosmodel", "G", "G.gz") or word.startswith(files)
    }
    expected = {"train": {words[0]}}.get(
        verb, {word for word in named if "." in word or word in ("OUT", "G")}
    )
    if "--shard" in words:
        expected = {"G.1-of-8", "G.1-of-8.json"}
    assert made == expected
    assert printed or made or verb == "average"
    for name in made & {"RUN", "OUT"}:
        assert any((place / name).iterdir())


def test_the_translation_that_the_readme_shows_is_what_is_printed() -> None:
    ((command, shown),) = re.findall(r"^\$ transduce (.+)\n(.+)$", README, re.M)
    assert succeed(*shlex.split(command)) == f"{shown}\n"


@pytest.mark.parametrize("block", BLOCKS)
def test_the_python_of_the_readme_runs(block, prepared, monkeypatch) -> None:
    monkeypatch.chdir(prepared)
    ids = torch.tensor([[5, 6, 7, 2]])
    exec(block, {"source": ids, "target": ids})


def test_every_command_in_the_readme_is_a_verb_with_these_options() -> None:
    assert len(COMMANDS) > 20
    assert [one for one in COMMANDS if takes_minutes(one)]
    for command in COMMANDS:
        check_options(command)


def check_options(command: str) -> None:
    """The verb exists and has the options of this command."""
    words = shlex.split(command, comments=True)
    verb = words[1]
    assert verb in VERBS, command
    module = importlib.import_module(VERBS[verb])
    known = getattr(module, f"{verb}_command")
    if hasattr(known, "commands"):
        known = known.commands[words[2]]
    options = {name for p in known.params for name in p.opts}
    assert {word for word in words if word.startswith("--")} <= options, command


def test_every_part_of_the_package_is_on_the_readmes_map() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for path in sorted((ROOT / "transduce").iterdir()):
        if path.name.startswith(("_", ".")) or path.suffix not in ("", ".py"):
            continue
        if path.name in ("errors.py", "atomic.py", "log.py"):
            continue
        assert f"`transduce/{path.name}{'/' if path.is_dir() else ''}`" in readme, path.name


def test_every_picture_of_the_gallery_is_there_and_small_and_has_its_command() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    pictures = re.findall(r"\]\((gallery/\S+)\)", page.replace("\n", " "))
    assert len(pictures) >= 10
    assert {path.name for path in (ROOT / "docs" / "gallery").iterdir()} == {
        Path(picture).name for picture in pictures
    }
    for picture in pictures:
        assert (ROOT / "docs" / picture).stat().st_size < 150_000, picture
        (command,) = re.findall(rf"^transduce .+ --output {Path(picture).name}$", page, re.M)
        check_options(command)
