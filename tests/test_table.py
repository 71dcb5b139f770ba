"""Tables in plain text."""

import pytest

from transduce.table import NARROWEST, paragraph, render_table, terminal_width

TEXT = "the quick brown fox jumps over the lazy dog " * 4
WIDE = [("one", "1,234.56 ± 0.12", TEXT), ("two", "7", "short")]


def test_every_column_is_aligned_to_its_side() -> None:
    page = render_table("t", ("name", "count"), "<>", [("a", "1,000"), ("long name", "7")])
    assert page.split("\n") == [
        "t",
        "  name       count",
        "  ────────────────",
        "  a          1,000",
        "  long name      7",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_is_no_wider_than_asked_and_loses_no_word(width) -> None:
    page = render_table("", ("name", "a long heading of numbers", "text"), "<><", WIDE, width)
    assert max(map(len, page.split("\n"))) <= width
    for word in {*TEXT.split(), "1,234.56 ± 0.12", "heading", "short"}:
        assert word in page
    assert page.count("fox") == TEXT.count("fox")


def test_long_words_and_numbers_are_not_broken_in_a_table_that_is_too_narrow() -> None:
    path = "/home/someone/runs/2026/english-german/model"
    page = render_table("", ("score", "model"), "><", [("12.3 / 45.6", path)], 20)
    assert page.split("\n")[-1] == f"  12.3 / 45.6  {path}"


def test_a_signature_wraps_after_its_bars_and_is_otherwise_whole() -> None:
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.3"
    page = render_table("", ("score", "signature"), "><", [("12.3", signature)], 40)
    lines = page.split("\n")[2:]
    assert max(map(len, lines)) <= 40
    assert "".join(line.split()[-1] for line in lines) == signature
    assert all(line.endswith("|") for line in lines[:-1])


def test_a_paragraph_fits_the_terminal(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = paragraph(f"{TEXT} {TEXT}", "  ", "    ").split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("    ") for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(f"{TEXT} {TEXT}".split())


def test_a_table_without_rows_has_its_headings() -> None:
    assert render_table("", ("name", "count"), "<>", []).split("\n")[0] == "  name  count"


def test_empty_headings_and_an_empty_title_take_no_line() -> None:
    assert render_table("", ("", ""), "<<", [("d_model", "512")]) == "  d_model  512"


def test_a_table_with_a_missing_cell_is_a_bug() -> None:
    with pytest.raises(ValueError, match="zip"):
        render_table("", ("a", "b"), "<<", [("only one",)])


@pytest.mark.parametrize(("columns", "width"), [("40", NARROWEST), ("132", 132)])
def test_the_width_is_the_terminals_but_at_least_80(monkeypatch, columns, width) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == width
