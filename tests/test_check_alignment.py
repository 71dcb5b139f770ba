"""Preflight: files that are shifted against each other are noticed."""

from itertools import islice
from pathlib import Path

import digits
import pytest
from checking import TINY, check, invoke

from transduce import grammar
from transduce.check.alignment import shifts_of
from transduce.corpus.reading import read_lines, read_pairs

SHIFTED = (
    "from a.en, line 1 on look shifted: each source seems to belong to the target 1 line further "
    "down; look for a missing or an extra line"
)


def aligned(count: int = 1200) -> tuple[list[str], list[str]]:
    """Lines of the built-in grammar, which have the lengths of real sentences."""
    pairs = list(grammar.sentences("train", count, seed=4))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def lengths(lines: list[str]) -> list[int]:
    return [len(line) for line in lines]


def test_files_that_are_aligned_are_not_said_to_be_shifted() -> None:
    source, target = aligned()
    assert shifts_of(lengths(source), lengths(target)) == []
    assert shifts_of(lengths(source[:60]), lengths(target[:60])) == []
    equal = [20] * 300
    assert shifts_of(equal, equal) == []
    assert shifts_of([], []) == []
    assert shifts_of([3], [4]) == []


@pytest.mark.parametrize("by", [-3, -1, 1, 2])
def test_files_shifted_by_some_lines_are_noticed_and_by_how_many(by) -> None:
    source, target = map(lengths, aligned())
    source, target = (source[-by:], target) if by < 0 else (source, target[by:])
    count = min(len(source), len(target))
    (shift,) = shifts_of(source[:count], target[:count])
    assert shift.by == -by
    assert (shift.first, shift.last) == (0, count - 1)


def test_a_line_missing_in_the_middle_is_located() -> None:
    source, target = map(lengths, aligned(2000))
    del target[990]
    (shift,) = shifts_of(source[:1999], target)
    assert shift.by == -1
    assert 500 <= shift.first <= 1000
    assert shift.last == 1998


@pytest.mark.parametrize("name", ["multi30k", "newstest", "tatoeba-en-de", "europarl-en-de"])
def test_no_real_corpus_is_said_to_be_shifted_until_it_is(name, data) -> None:
    suffixes = ("en", "de", "fr")
    texts = {
        str(file): [*map(len, islice(read_lines(file), 15_000))]
        for file in sorted((data / name).iterdir())
        if file.name.split(".")[-2] in suffixes and "mono" not in file.name
    }
    pairs = [
        (a, b)
        for first, a in texts.items()
        for second, b in texts.items()
        if first != second and first.split(".")[0] == second.split(".")[0]
    ]
    for file in sorted((data / name).glob("*.tsv.gz")):
        both = list(islice(read_pairs([file], []), 15_000))
        pairs.append(([len(a) for a, _ in both], [len(b) for _, b in both]))
    assert pairs
    for source, target in pairs:
        assert shifts_of(source, target) == []
        (shift,) = shifts_of(source[1:], target[:-1])
        assert (shift.by, shift.first, shift.last) == (1, 0, len(source) - 2)


def shifted_files(folder: Path) -> list[str]:
    source, target = aligned()
    (folder / "a.en").write_text("\n".join(source[1:]) + "\n", "utf-8")
    (folder / "a.de").write_text("\n".join(target[:-1]) + "\n", "utf-8")
    return ["--train", str(folder / "a.en"), str(folder / "a.de")]


def test_shifted_files_are_noticed_by_check_and_by_train(tmp_path) -> None:
    options = digits.settings("data.drop_duplicates=false", "data.vocab_size=400")
    files = [*shifted_files(tmp_path), *options]
    (warning, *_) = check(*files)["warnings"]
    assert warning.startswith("training data: 1,1")
    assert warning.endswith(SHIFTED)
    result = invoke("train", str(tmp_path / "run"), *TINY, *files)
    assert result.exit_code == 0, result.stderr
    assert SHIFTED in result.stderr
