"""The encoded corpus on disk."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce import store as store_module
from transduce.corpus.filters import Rules
from transduce.corpus.pair import Pair
from transduce.corpus.reading import fingerprint, read_pairs
from transduce.errors import InputError
from transduce.store import Store, build_store
from transduce.tokenizer import Tokenizer

TEXT = st.text("ab ▁\u00a0ü😀", max_size=40)
KEEP_ALL = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    file = tmp_path_factory.mktemp("tokens") / "tokenizer.model"
    return Tokenizer.learn(["a dog runs", "ein Hund rennt", "ab ba"], 300, file)


def some_pairs(count: int) -> list[Pair]:
    return [Pair(f"dog {i}", f"Hund {i} rennt") for i in range(count)]


@given(pairs=st.lists(st.builds(Pair, TEXT, TEXT), min_size=1), threads=st.integers(1, 3))
def test_what_was_stored_is_read_back(tmp_path_factory, tokenizer, pairs, threads) -> None:
    pairs.append(Pair("a", "b"))
    directory = tmp_path_factory.mktemp("store") / "corpus"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "CHUNK", 3)
        store = build_store(pairs, tokenizer, directory, 1000, rules=KEEP_ALL, threads=threads)
    expected = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    assert len(store) == len(expected) == len(store.lengths[0]) == len(store.lengths[1])
    for i, pair in enumerate(expected):
        for side, text in zip(store.sides.values(), pair, strict=True):
            assert tokenizer.decode(side[i]) == text
            assert side.lengths[i] == len(side[i]) + 1


def test_the_number_of_threads_changes_nothing(tmp_path, tokenizer) -> None:
    pairs = some_pairs(9000)
    for threads in (1, 4):
        build_store(pairs, tokenizer, tmp_path / str(threads), 50, threads=threads)
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / "4" / file.name).read_bytes()


def test_pairs_of_too_many_tokens_are_dropped_and_counted(tmp_path, tokenizer) -> None:
    fits, long = "a" * 10, "x " * 30
    limit = len(tokenizer.encode("x " * 10))
    pairs = [Pair("dog", "Hund"), Pair(long, "y " * 10), Pair("y " * 10, long), Pair(fits, "zz")]
    pairs.append(Pair("x" * 100_000, "z" * 90_000))
    store = build_store(pairs, tokenizer, tmp_path / "corpus", limit)
    assert len(store) == 2
    assert str(store.tally) == "5 pairs read, 2 kept; dropped: 3 too long"
    assert max(lengths.max() for lengths in store.lengths) <= limit + 1
    exact = build_store([Pair("x " * 10, "z")], tokenizer, tmp_path / "exact", limit)
    assert len(exact) == 1


def test_a_text_of_too_many_characters_is_not_encoded(tmp_path, tokenizer, monkeypatch) -> None:
    lengths: list[int] = []
    encode = Tokenizer.encode_arrays

    def spy(self, texts):
        lengths.extend(map(len, texts))
        return encode(self, texts)

    monkeypatch.setattr(Tokenizer, "encode_arrays", spy)
    pairs = [Pair("dog", "Hund"), Pair("x" * 10**6, "y" * 10**6)]
    assert build_store(pairs, tokenizer, tmp_path / "c", 20).tally.dropped["too long"] == 1
    assert max(lengths) < 1000


def test_meta_json_records_what_the_store_was_made_from(tmp_path, tokenizer) -> None:
    text = tmp_path / "train.tsv"
    text.write_text("dog\tHund\nOK\tOK\n", encoding="utf-8")
    rules = Rules(max_ratio=2.5)
    build_store(
        read_pairs([text]),
        tokenizer,
        tmp_path / "c",
        77,
        rules=rules,
        fingerprint=fingerprint([text]),
    )
    meta = Store.open(tmp_path / "c").meta
    assert meta.fingerprint == fingerprint([text])
    assert meta.vocabulary == tokenizer.checksum
    assert meta.rules == rules
    assert (meta.max_length, meta.read, meta.examples, meta.dropped) == (77, 2, 1, {"identical": 1})


def test_ids_take_two_bytes_where_they_fit(tmp_path, tokenizer, monkeypatch) -> None:
    small = build_store(some_pairs(3), tokenizer, tmp_path / "small", 50)
    monkeypatch.setitem(tokenizer.__dict__, "vocab_size", 2**16 + 1)
    large = build_store(some_pairs(3), tokenizer, tmp_path / "large", 50)
    assert small.sides["source"][0].itemsize == 2
    assert large.sides["source"][0].itemsize == 4
    assert np.array_equal(small.sides["target"][2], large.sides["target"][2])


def test_progress_is_called_with_every_pair(tmp_path, tokenizer) -> None:
    seen: list[int] = []
    build_store(some_pairs(5000), tokenizer, tmp_path / "c", 50, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 5000


def test_an_interrupted_build_leaves_what_was_there_before(tmp_path, tokenizer) -> None:
    def interrupted():
        yield from some_pairs(5000)
        raise KeyboardInterrupt

    directory = tmp_path / "corpus"
    with pytest.raises(KeyboardInterrupt):
        build_store(interrupted(), tokenizer, directory, 50)
    assert not list(tmp_path.iterdir())
    build_store(some_pairs(7), tokenizer, directory, 50)
    with pytest.raises(KeyboardInterrupt):
        build_store(interrupted(), tokenizer, directory, 50)
    assert len(Store.open(directory)) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_store_is_replaced_as_a_whole(tmp_path, tokenizer) -> None:
    build_store(some_pairs(3), tokenizer, tmp_path / "corpus", 50)
    assert len(build_store(some_pairs(7), tokenizer, tmp_path / "corpus", 50)) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_an_unusable_corpus_writes_nothing(tmp_path, tokenizer) -> None:
    with pytest.raises(InputError, match="no pair is left to train on: 1 pair read, 0 kept"):
        build_store([Pair("x" * 50, "y")], tokenizer, tmp_path / "c", 1, rules=KEEP_ALL)
    assert not list(tmp_path.iterdir())


def cut(file) -> None:
    file.write_bytes(file.read_bytes()[:-2])


def lengthen(file) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def flip(file) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def zero(file) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def change(file, **values) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *((f"{side}.{part}", how) for side in ("source", "target") for part in ("ids", "offsets")
          for how in (cut, lengthen, lambda file: file.unlink())),
        ("meta.json", cut),
        ("meta.json", lambda file: file.unlink()),
        ("meta.json", lambda file: file.write_text("{}")),
        ("meta.json", lambda file: file.write_text("[1]")),
        ("meta.json", lambda file: file.write_bytes(b"\xff")),
        ("meta.json", lambda file: change(file, version=3)),
        ("meta.json", lambda file: change(file, examples=6)),
        ("meta.json", lambda file: change(file, tokens={})),
        ("meta.json", lambda file: change(file, version=1)),
        ("meta.json", lambda file: file.write_text("[" * 10**5)),
    ],
)  # fmt: skip
def test_opening_a_damaged_store_is_an_error(tmp_path, tokenizer, name, damage) -> None:
    directory = tmp_path / "corpus"
    build_store(some_pairs(7), tokenizer, directory, 50)
    damage(directory / name)
    with pytest.raises(InputError) as caught:
        Store.open(directory)
    assert str(caught.value) == (
        f"the encoded corpus {directory} is damaged or of another version: delete it to encode "
        "it again"
    )


@pytest.mark.parametrize("name", ["source.ids", "target.ids", "target.offsets"])
@pytest.mark.parametrize("damage", [flip, zero])
def test_opening_a_store_with_a_flipped_bit_is_an_error(tmp_path, tokenizer, name, damage) -> None:
    directory = tmp_path / "corpus"
    build_store(some_pairs(7), tokenizer, directory, 50)
    damage(directory / name)
    with pytest.raises(InputError) as caught:
        Store.open(directory)
    assert str(caught.value) == (
        f"the encoded corpus {directory} is damaged: {name} does not match its checksum in "
        "meta.json: delete it to encode it again"
    )


def test_empty_checksums_of_a_store_are_an_error(tmp_path, tokenizer) -> None:
    build_store(some_pairs(7), tokenizer, tmp_path / "corpus", 50)
    change(tmp_path / "corpus" / "meta.json", checksums={})
    with pytest.raises(InputError, match="is damaged"):
        Store.open(tmp_path / "corpus")


def test_a_store_of_version_1_is_read_as_before(tmp_path, tokenizer) -> None:
    new = build_store(some_pairs(7), tokenizer, tmp_path / "corpus", 50)
    meta = json.loads((tmp_path / "corpus" / "meta.json").read_text("utf-8"))
    tokens = meta.pop("tokens")
    del meta["checksums"]
    meta |= {"version": 1, "pairs": meta.pop("examples"), "tokens": meta.pop("vocabulary")}
    meta |= {f"{side}_tokens": count for side, count in tokens.items()}
    (tmp_path / "corpus" / "meta.json").write_text(json.dumps(meta), "utf-8")
    old = Store.open(tmp_path / "corpus")
    assert (old.meta.tokens, old.meta.vocabulary) == (new.meta.tokens, tokenizer.checksum)
    assert len(old) == 7
    for before, after in zip(old.sides.values(), new.sides.values(), strict=True):
        assert np.array_equal(before.ids, after.ids)
        assert np.array_equal(before.lengths, after.lengths)


def test_a_task_with_one_side_is_stored_and_filtered(tmp_path, tokenizer) -> None:
    lines = [("a dog",), ("",), ("ein Hund",), ("a dog",)]
    store = build_store(lines, tokenizer, tmp_path / "corpus", 50, sides=["text"])
    assert [tokenizer.decode(store.sides["text"][i]) for i in range(2)] == ["a dog", "ein Hund"]
    assert str(store.tally) == "4 examples read, 2 kept; dropped: 1 empty, 1 duplicate"
    assert len(store.lengths) == 1


def test_opening_a_missing_store_is_an_error(tmp_path) -> None:
    with pytest.raises(InputError, match=r"^there is no encoded corpus "):
        Store.open(tmp_path / "corpus")


def test_memory_hardly_grows_with_the_corpus(tmp_path, tokenizer) -> None:
    def peak(count: int) -> int:
        pairs = (Pair(f"{i} " * 60, f"{i} {i}" * 60) for i in range(count))
        tracemalloc.start()
        build_store(pairs, tokenizer, tmp_path / "corpus", 1000, threads=1)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "CHUNK", 50)
        small, large = peak(400), peak(1600)
    assert large - small < 1200 * 200  # bytes a pair, of which the text has more than 700


def test_all_of_multi30k_is_encoded(data, tmp_path, tokenizer) -> None:
    folder = data / "multi30k"
    pairs = list(read_pairs([folder / "val.en.gz"], [folder / "val.de.gz"]))
    store = build_store(pairs, tokenizer, tmp_path / "c", 1000)
    assert len(store) == 1014
    assert [tokenizer.decode(store.sides["target"][i]) for i in range(1014)] == [
        p.target for p in pairs
    ]
