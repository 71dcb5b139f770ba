"""Pictures of trees: nothing overlaps, and every format has the words."""

from itertools import combinations, pairwise

import pytest
import trees
from hypothesis import given

from transduce.errors import UserError
from transduce.figures.trees import draw_trees, drawing_of
from transduce.parsing.tree import Leaf, Node, leaves

TREE = Node("S", (Node("NP", (Leaf("DT", "the"), Leaf("NN", "<dog>"))), Leaf(".", ".")))


def box(place, line):
    (x, y), half, high = place, line.width / 2, 0.365 * line.size
    return x - half, x + half, y - high, y + high


def overlap(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


@given(trees.tree())
def test_labels_neither_overlap_nor_are_crossed_by_lines(tree) -> None:
    drawing = drawing_of(tree)
    boxes = [box(place, line) for place, line in drawing.texts]
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    for edge in drawing.edges:
        for (x1, y1), (x2, y2) in pairwise(edge):
            line = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
            assert not any(overlap(line, text) for text in boxes)
    assert all(left >= 0 and right <= drawing.width for left, right, _, _ in boxes)


@given(trees.tree())
def test_words_stand_in_a_row_in_their_order(tree) -> None:
    drawing = drawing_of(tree)
    row = [(x, line.text) for (x, y), line in drawing.texts if y == drawing.height]
    assert [word for _, word in sorted(row)] == [leaf.word for leaf in leaves(tree)]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_every_format_is_written(tmp_path, suffix) -> None:
    file = tmp_path / f"tree{suffix}"
    draw_trees([TREE, TREE], file)
    content = file.read_bytes()
    if suffix in (".svg", ".html"):
        assert content.count(b">&lt;dog&gt;</text>") == 2
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!doctype html>"}
    assert content.startswith(starts[suffix])


def test_a_tree_too_wide_for_a_png_is_one_sentence(tmp_path) -> None:
    wide = Node("S", tuple(Leaf("NN", "w" * 40) for _ in range(100)))
    with pytest.raises(UserError, match=r"the tree is too wide for t\.png: draw it as \.svg"):
        draw_trees([wide], tmp_path / "t.png")
