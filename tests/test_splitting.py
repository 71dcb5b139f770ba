"""Splitting of long texts."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from transduce.tokenizer import Tokenizer
from transduce.translate.splitting import Piece, sentences, split

AWKWARD = st.sampled_from(
    [
        *"ab.!?…,;:–—()\"'”»“„-1 \n\t\u00a0\x1f\u200b\u3000。！、」।؟",
        "e\u0301",
        "👩‍👩‍👧",
        "🇩🇪",
        "Mr. ",
        "z. B. ",
    ]
)
TEXTS = st.lists(AWKWARD, max_size=60).map("".join) | st.text(max_size=60)
# what a model's limit is like: a longer text never fits where a shorter does not
LIMITS = st.sampled_from(
    [
        lambda most: lambda text: len(text) <= most,
        lambda most: lambda text: len(text.encode("utf-8", "replace")) <= most,
        lambda most: lambda text: len(regex.findall(r"\w+|\S", text)) <= most,
    ]
)


def texts(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def joined(pieces: list[Piece]) -> str:
    return "".join(piece.text + piece.after for piece in pieces)


@given(text=TEXTS, limit=LIMITS, most=st.integers(0, 20))
@example(text="  \u3000 a", limit=lambda most: lambda text: len(text) <= most, most=2)
@example(text="ab\x1f (c)", limit=lambda most: lambda text: len(text) <= most, most=4)
def test_pieces_concatenate_to_the_text_and_each_fits_and_is_not_blank(text, limit, most) -> None:
    fits = limit(most)
    pieces = split(text, fits)
    assert joined(pieces) == text
    assert all(not piece.after or piece.after.isspace() for piece in pieces)
    for piece in pieces:
        assert fits(piece.text.lstrip()) or len(piece.text.strip()) == 1 or not text.strip()
        assert piece.text.strip() or not text.strip()
        assert piece.text == piece.text.rstrip()


@given(text=TEXTS)
def test_sentences_concatenate_to_the_text_and_none_is_blank(text) -> None:
    pieces = sentences(text)
    assert joined(pieces) == text
    assert all(piece.text.strip() for piece in pieces) or not text.strip()


@given(text=TEXTS)
def test_text_that_fits_is_one_piece(text) -> None:
    assert len(split(text, lambda _: True)) == (1 if text else 0)


def test_blank_text_has_no_pieces_to_translate() -> None:
    for cut in (sentences, lambda text: split(text, lambda _: True)):
        assert cut("") == []
        assert cut(" \u3000\n") == [Piece("", " \u3000\n")]


@pytest.mark.parametrize(
    "expected",
    [
        ["A dog runs.", "A cat sleeps!", "Why?", "Nobody knows …", "The end"],
        ["Mr. Fox met Dr. Smith and Mrs. J. R. Brown.", "They talked."],
        ["He lives in the U.S. Army base, e.g. Fort Bragg, or St. Louis.", "I don't.", "You do."],
        ["See Fig. 3 and No. 5, dated Jan. 2, 1999.", "No.", "That was in 1999.", "Really."],
        ["Am 3. Mai kam er, z. B. mit dem Zug, d. h. spät.", "Er blieb bis 1990.", "Dann nicht."],
        ["Im 19. Jahrhundert kostete es ca. 3,5 Mio. Mark bzw. Taler.", "Das war viel."],
        ["Ludwig XIV. König von Frankreich, starb.", "Er war alt."],
        ["Er rief: „Komm!“", "Dann ging er.", "»Wer da?«", "Niemand."],
        ['"Stop!" he said.', "(Nobody heard.)", "“Go,” she said.", "'Now.'", "They went."],
        [
            "Wait ... what?!",
            "Yahoo! is a firm.",
            "At 12:30.",
            "It cost $3.50.",
            "Version 2.0 is out.",
        ],
        ["Il dit : « Viens. »", "Puis il partit !", "¿Por qué?", "¡No sé!", "«Ya.»", "– Bueno."],
    ],
)
def test_a_sentence_ends_where_a_reader_would_say_so(expected) -> None:
    assert texts(sentences(" ".join(expected))) == expected


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ("", ["他来了。", "他说：“走！”", "真的吗？！", "好。"]),
        ("", ["犬が走る。", "「なぜ？」", "iPhoneだ。"]),
        ("\u3000", ["犬が走る。", "「なぜ？」", "iPhoneだ。"]),
        (" ", ["मैं ठीक हूँ।", "तुम कैसे हो?", "अच्छा॥", "हाँ"]),
        (" ", ["هل أنت بخير؟", "نعم، شكرا.", "یہ ہے۔", "اچھا"]),
    ],
)
def test_full_stops_of_other_scripts_end_sentences(space, expected) -> None:
    assert texts(sentences(space.join(expected))) == expected


def pieces_of(text: str, most: int) -> list[str]:
    return texts(split(text, lambda piece: len(piece) <= most))


def test_a_piece_ends_at_the_best_kind_of_end_that_fits() -> None:
    assert pieces_of("One. Two. Three, four. Five", 12) == ["One. Two.", "Three, four.", "Five"]
    assert pieces_of("One two, three four five", 18) == ["One two,", "three four five"]
    assert pieces_of("one (two three) four five", 16) == ["one (two three)", "four five"]
    assert pieces_of("one two (three four) five", 17) == ["one two", "(three four) five"]
    assert pieces_of("one two – three four five", 17) == ["one two –", "three four five"]
    assert pieces_of("one—two three four", 12) == ["one—", "two three", "four"]
    assert pieces_of("no. it is. mr. x did", 14) == ["no. it is.", "mr. x did"]
    assert pieces_of("one two three", 9) == ["one two", "three"]
    assert pieces_of("in 10\u00a0km do", 7) == ["in", "10\u00a0km", "do"]
    assert pieces_of("a\u00a0b\u00a0c", 4) == ["a\u00a0b", "c"]
    assert pieces_of("我来了，他走了。好", 6) == ["我来了，", "他走了。好"]
    assert pieces_of("abcdefg", 3) == ["abc", "def", "g"]


@given(
    characters=st.lists(
        st.sampled_from(["e\u0301", "👩‍👩‍👧", "🇩🇪", "x", "한", "👍🏽", "नि", "、\ufe00"])
    ),
    most=st.integers(5, 20),
)
def test_a_hard_cut_never_divides_a_grapheme(characters, most) -> None:
    text = "".join(characters)
    for piece in pieces_of(text, most):
        assert text.startswith(piece)
        text = text.removeprefix(piece)
        while characters and piece.startswith(characters[0]):
            piece = piece.removeprefix(characters.pop(0))
        assert not piece


@pytest.mark.parametrize(
    "part",
    [
        "A dog runs on the beach, and Mr. Fox sees it. ",
        "word ",
        "x",
        ".",
        ". ",
        ".)",
        '"',
        ", ",
        "(",
        "é ",
        "e\u0301",
        "。",
        "a.b,c",
        "a" + " " * 999,
        "a\u00a0",
        "- ",
    ],
)
def test_the_work_is_proportional_to_the_length_of_a_line(part) -> None:
    """A line so long that a search quadratic in its length would take minutes."""
    text = part * (100_000 // len(part))
    asked = longest = 0

    def fits(piece: str) -> bool:
        nonlocal asked, longest
        asked, longest = asked + len(piece), max(longest, len(piece))
        return len(piece) <= 500

    assert joined(split(text, fits)) == text
    assert asked <= 25 * len(text)
    assert longest <= 2_000
    assert joined(sentences(text)) == text


def test_pieces_have_as_many_sentences_as_fit(tmp_path) -> None:
    sentence = "A small dog runs, with a big stick, along the sunny beach."
    tokens = Tokenizer.learn([sentence], 300, tmp_path / "tokens.model")
    most = 2 * len(tokens.encode(sentence)) + 3
    text = " ".join([sentence] * 7)
    pieces = split(text, lambda piece: len(tokens.encode(piece)) <= most)
    assert texts(pieces) == [f"{sentence} {sentence}"] * 3 + [sentence]
    assert {piece.after for piece in pieces[:-1]} == {" "}
