"""The tokenizer."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transduce.config import ModelConfig
from transduce.corpus.reading import read_pairs
from transduce.errors import ConfigError, InputError, ModelError
from transduce.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, SymbolTokenizer, Tokenizer, bpe
from transduce.tokenizer.processor import FEW

LINES = [
    "A dog runs on the beach and the dog barks.",
    "Ein Hund rennt am Strand und der Hund bellt.",
    "Two men, a woman — 3 children: they're all at the café!",
    "Zwei Männer, eine Frau und drei Kinder sind im Café.",
] * 5
SYMBOLS = ["<en>", "(NP", ","]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("tokens") / "tokens.model"


@pytest.fixture(scope="module")
def tokens(file) -> Tokenizer:
    return Tokenizer.learn(LINES, 360, file, symbols=SYMBOLS)


@settings(max_examples=400)
@given(text=st.text() | st.text("▁\x10_ \u00a0\tad<s>/0x41▅⁇😀\u2028,(NP"))
@example("")
@example("   ")
@example("  two  spaces  ")
@example("▁")
@example("▁▁ ▁dog▁")
@example("\x10_\x10▁\x10\x10")
@example("no-break\u00a0space \u202f")
@example("<s> </s> <unk> <pad> <0x41> <en>")
@example("😀👩‍👩‍👧 ᚠᛇᚻ 𒀀 \ufffd \ufeff e\u0301 é")
@example("\x00\n\r\n\t\x1b")
def test_decoding_gives_back_every_text(tokens, text) -> None:
    ids = tokens.encode(text)
    assert tokens.decode(ids) == text
    assert all(UNK < i < tokens.vocab_size for i in ids)


@given(texts=st.lists(st.text()))
def test_a_batch_is_encoded_like_its_texts(tokens, texts) -> None:
    assert tokens.encode_batch(texts) == [tokens.encode(text) for text in texts]
    arrays = tokens.encode_arrays(texts)
    assert [array.tolist() for array in arrays] == tokens.encode_batch(texts)


@given(ids=st.lists(st.integers(0, 359)))
def test_any_ids_have_a_text(tokens, ids) -> None:
    """A model may write any ids; special symbols have no text."""
    text = tokens.decode(ids)
    assert text == tokens.decode([BOS, *ids, EOS, PAD])
    text.encode()


@given(text=st.text())
def test_no_token_is_longer_than_the_longest(tokens, text) -> None:
    assert len(text) < max(1, len(tokens.encode(text)) * tokens.longest_piece + 1)


def test_special_symbols_have_the_ids_that_the_model_expects(tokens) -> None:
    config = ModelConfig()
    assert (config.pad_id, config.bos_id, config.eos_id) == (PAD, BOS, EOS)
    processor = tokens._processor
    assert [processor.IdToPiece(i) for i in (PAD, BOS, EOS, UNK)] == list(SPECIALS)


def test_words_are_the_same_tokens_wherever_they_stand(tokens) -> None:
    assert tokens.pieces("Hund") == ["▁Hund"]
    assert tokens.pieces("der Hund")[-1] == "▁Hund"


def test_symbols_are_never_split(tokens) -> None:
    assert tokens.pieces("(NP dog,<en>x")[1] == "(NP"
    assert tokens.pieces("(NP dog,<en>x")[-3:-1] == [",", "<en>"]


@pytest.mark.parametrize(
    ("symbols", "why"),
    [
        ([""], "'' cannot be a symbol of the vocabulary: it is empty or has a space"),
        (["a b"], "'a b' cannot be a symbol of the vocabulary: it is empty or has a space"),
        (
            ["▁x"],
            "'▁x' cannot be a symbol of the vocabulary: it has a character that encodes a space",
        ),
        (["<s>"], "'<s>' cannot be a symbol of the vocabulary: every vocabulary has it already"),
        (
            ["<0x0A>"],
            "'<0x0A>' cannot be a symbol of the vocabulary: every vocabulary has it already",
        ),
        (["x", "x"], "'x' cannot be a symbol of the vocabulary: it is given twice"),
    ],
)
def test_impossible_symbols_are_an_error(tmp_path, symbols, why) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(why)}$"):
        Tokenizer.learn(LINES, 360, tmp_path / "x", symbols=symbols)


def test_a_corpus_full_of_awkward_text_can_be_learned_from(tmp_path) -> None:
    awkward = ["▁▅ <s> </s> <unk> <0x41> ▅▅", "x" * 100_000, "\x00\n", "", "   ", "😀" * 5000]
    tokens = Tokenizer.learn(awkward, 400, tmp_path / "x")
    for text in awkward:
        assert tokens.decode(tokens.encode(text)) == text


def test_a_loaded_vocabulary_is_the_one_that_was_learned(tokens, file) -> None:
    loaded = Tokenizer.load(file)
    assert loaded.vocab_size == tokens.vocab_size == 360
    assert loaded.checksum == tokens.checksum
    assert loaded.encode("a dog runs ▁") == tokens.encode("a dog runs ▁")
    assert [path.name for path in file.parent.iterdir()] == ["tokens.model"]


def test_the_same_text_gives_the_same_file_which_names_no_path(tmp_path) -> None:
    files = [tmp_path / name for name in ("a.model", "b.model")]
    for file in files:
        Tokenizer.learn(iter(LINES), 340, file, sample=7)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert str(tmp_path).encode() not in files[0].read_bytes()


def test_a_vocabulary_limited_by_the_corpus_is_logged(tmp_path) -> None:
    logged: list[str] = []
    tokens = Tokenizer.learn(["a dog", "a dog ran"], 37_000, tmp_path / "x", log=logged.append)
    # 260 and ▁ a d o g r n, and every merge of ▁a, ▁dog and ▁ran that there is
    assert tokens.vocab_size < 285
    assert logged == [f"the corpus supports a vocabulary of {tokens.vocab_size}, not 37,000"]
    exactly = Tokenizer.learn(
        ["a dog", "a dog ran"], tokens.vocab_size, tmp_path / "y", log=logged.append
    )
    assert exactly.vocab_size == tokens.vocab_size
    assert len(logged) == 1


@pytest.mark.parametrize("vocab_size", [1, 100, 266])
def test_too_small_a_vocabulary_is_an_error_with_the_smallest_that_works(
    tmp_path, vocab_size
) -> None:
    with pytest.raises(ConfigError) as caught:
        Tokenizer.learn(["a dog", "bad"], vocab_size, tmp_path / "x", symbols=["<en>"])
    assert str(caught.value) == (
        f"data.vocab_size = {vocab_size} is too small for this corpus: the smallest that works "
        "is 267 (256 bytes, 5 special symbols and 6 characters)"
    )
    assert not list(tmp_path.iterdir())
    assert (
        Tokenizer.learn(["a dog", "bad"], 267, tmp_path / "x", symbols=["<en>"]).vocab_size == 267
    )


def test_a_large_corpus_is_sampled_and_that_is_logged(tmp_path) -> None:
    logged: list[str] = []
    lines = (f"line {i} of many" for i in range(1000))
    Tokenizer.learn(lines, 300, tmp_path / "x", sample=50, seed=3, log=logged.append)
    assert logged == ["the vocabulary is learned from 50 of 1,000 lines, drawn with seed 3"]


def test_every_line_is_as_likely_to_be_drawn() -> None:
    import random

    rng = random.Random(0)
    lines = [str(i) for i in range(20)]
    counts = dict.fromkeys(lines, 0)
    for _ in range(3000):
        for line in bpe._draw(lines, 5, rng)[0]:
            counts[line] += 1
    assert all(abs(count - 750) < 5 * (3000 * 0.25 * 0.75) ** 0.5 for count in counts.values())


def test_learning_from_no_text_is_an_error(tmp_path) -> None:
    with pytest.raises(InputError, match=r"^there is no text to learn a vocabulary from$"):
        Tokenizer.learn(["", ""], 1000, tmp_path / "x")


def test_files_that_are_not_a_vocabulary_are_an_error(tmp_path, tokens) -> None:
    bad = tmp_path / "bad.model"
    with pytest.raises(ModelError, match=f"^there is no vocabulary {re.escape(str(bad))}$"):
        Tokenizer.load(bad)
    for content in (b"", b"junk" * 99, tokens.model[:-1], tokens.model[:1000]):
        bad.write_bytes(content)
        with pytest.raises(ModelError) as caught:
            Tokenizer.load(bad)
        assert str(caught.value) == (
            f"{bad} is damaged, or not a SentencePiece model: restore the original"
        )


def test_a_vocabulary_of_another_program_is_an_error(tmp_path) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(LINES),
        model_prefix=str(tmp_path / "other"),
        model_type="bpe",
        vocab_size=80,
        minloglevel=2,
    )
    with pytest.raises(ModelError) as caught:
        Tokenizer.load(tmp_path / "other.model")
    assert str(caught.value) == (
        f"{tmp_path / 'other.model'} numbers pad, bos, eos and unk (-1, 1, 2, 0), "
        "not (0, 1, 2, 3): it is not a vocabulary of transduce"
    )


@pytest.mark.parametrize("wrong", [360, -1, 2**40])
def test_ids_outside_the_vocabulary_are_an_error(tokens, wrong) -> None:
    with pytest.raises(InputError, match=f"^token id {wrong} is outside the vocabulary of 360$"):
        tokens.decode([5, wrong])


@pytest.mark.parametrize("count", [1, FEW + 1])
def test_an_unpaired_surrogate_is_an_error(tokens, count) -> None:
    with pytest.raises(InputError, match=r"^the text has an unpaired surrogate"):
        tokens.encode_batch(["a\ud800"] * count)


def test_few_texts_and_many_are_encoded_alike(tokens) -> None:
    texts = [f"{'a dog ' * (i % 7)}▁{i}" for i in range(FEW + 1)]
    alone = [tokens.encode(text) for text in texts]
    assert tokens.encode_batch(texts) == alone
    assert [ids.tolist() for ids in tokens.encode_arrays(texts)] == alone
    assert [ids.tolist() for ids in tokens.encode_arrays(texts[:3])] == alone[:3]


def test_real_text_has_no_unknown_tokens_and_decodes_to_itself(data, tmp_path) -> None:
    folder = data / "multi30k"
    pairs = list(read_pairs([folder / "val.en.gz"], [folder / "val.de.gz"]))
    lines = [text for pair in pairs for text in (pair.source, pair.target)]
    tokens = Tokenizer.learn(lines, 4000, tmp_path / "x")
    assert tokens.vocab_size == 4000
    for text, ids in zip(lines, tokens.encode_arrays(lines), strict=True):
        assert tokens.decode(ids) == text
    assert np.concatenate(tokens.encode_arrays(lines)).min() > UNK


def test_symbols_outside_the_vocabulary_are_encoded_as_their_suffix_or_their_kind(tmp_path) -> None:
    frequent = "→cat →a →b →c →d →e " * 2
    target = frequent + "→running →swimming →1999 →2001 ⟨NP ⟩NP"
    tokenizer = SymbolTokenizer.learn_pairs(
        [("a cat", target)], 330, tmp_path / "x", open_kind="→", most=6
    )
    texts = ["→cat →jogging →cats →1750 ⟨NEW ⟩NP"]
    names = [tokenizer.target_vocabulary[i] for i in tokenizer.encode_targets(texts)[0]]
    assert names == ["→cat", "→*ing", "→", "→*000", "⟨", "⟩NP"]
    assert tokenizer.target_vocab_size < tokenizer.vocab_size
    reread = SymbolTokenizer.load(tmp_path / "x")
    assert reread.encode_targets(texts) == tokenizer.encode_targets(texts)
    assert reread.decode(reread.encode("a cat")) == "a cat"
