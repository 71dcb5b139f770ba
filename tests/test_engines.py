"""The two engines: what they find, what they say of it, and that they agree."""

import random
import stat

import ctranslate2
import pytest
import torch
from models import model_directory, pairs, untrained

from transduce.directory import ModelDirectory
from transduce.engines import loader
from transduce.engines.ctranslate2_engine import Setting
from transduce.engines.loader import open_engine, open_fast, open_reference, run_fast
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError, ModelError
from transduce.search import GREEDY, Search, length_penalty
from transduce.tokenizer import load_tokenizer


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("engines") / "model")


@pytest.fixture(scope="module")
def sources(directory):
    return load_tokenizer(directory).encode_batch([source for source, _ in pairs(60)])


def texts(found):
    return [[h.tokens for h in hypotheses] for hypotheses in found]


def fast_as(directory, compute_type):
    """The fast engine as it would be on a machine where this type won."""
    open_fast(ModelDirectory.open(directory))
    return run_fast(
        ModelDirectory.open(directory),
        loader.fast_directory(ModelDirectory.open(directory)),
        Setting(compute_type, 2, 1),
    )


@pytest.mark.parametrize("search", [GREEDY, Search(n_best=4), Search(beam=2, alpha=1.0)])
def test_the_score_that_search_reports_is_the_one_that_score_computes(
    directory, sources, search
) -> None:
    engine = open_reference(ModelDirectory.open(directory))
    found = engine.search(sources, search)
    for rank in range(search.n_best):
        best = [hypotheses[rank] for hypotheses in found if len(hypotheses) > rank]
        of = [source for source, all_ in zip(sources, found, strict=True) if len(all_) > rank]
        for hypothesis, log_probs in zip(
            best, engine.score(of, [h.tokens for h in best]), strict=True
        ):
            if not hypothesis.ended:
                log_probs = log_probs[:-1]
            assert hypothesis.log_probs == pytest.approx(log_probs, abs=1e-4)
            penalty = length_penalty(len(log_probs), search)
            assert hypothesis.score == pytest.approx(sum(log_probs) / penalty, abs=1e-4)


def test_decoding_with_a_shared_memory_and_a_cache_equals_reading_all_at_once() -> None:
    model = untrained(50)
    source = torch.randint(4, 50, (3, 7))
    target = torch.randint(4, 50, (6, 5))  # two of each sentence
    memory = model.encode(source)
    logits, cache = model.decode(target[:, :2], memory)
    more, _ = model.decode(target[:, 2:], memory, cache)
    expected = model(source.repeat_interleave(2, dim=0), target)
    torch.testing.assert_close(torch.cat([logits, more], dim=1), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["torch", "float32", "int8"])
def test_a_sentence_is_translated_the_same_in_any_company(directory, sources, kind) -> None:
    engine = (
        open_reference(ModelDirectory.open(directory))
        if kind == "torch"
        else fast_as(directory, kind)
    )
    sources = sources[: 20 if kind == "torch" else None]
    alone = texts(engine.search(sources, batch_size=1))
    for size in (7, 64):
        assert texts(engine.search(sources, batch_size=size)) == alone
    order = list(range(len(sources)))
    random.Random(3).shuffle(order)
    shuffled = texts(engine.search([sources[i] for i in order]))
    assert shuffled == [alone[i] for i in order]
    twice = texts(engine.search([*sources, *sources]))
    assert twice == alone + alone
    by_length = sorted(order, key=lambda i: len(sources[i]))
    assert texts(engine.search([sources[i] for i in by_length])) == [alone[i] for i in by_length]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "pre"},
        {"positions": "learned", "max_positions": 200},
        {"positions": "sinusoidal-concatenated"},
        {"share_embeddings": "none"},
        {"attention_bias": False, "activation": "gelu"},
        {"n_encoder_layers": 3, "n_decoder_layers": 1, "scale_embeddings": False},
    ],
    ids=str,
)
def test_ctranslate2_finds_what_torch_finds(tmp_path, sources, settings) -> None:
    place = model_directory(tmp_path / "model", shortlist=False, **settings)
    search = Search(n_best=2)
    ours = open_reference(ModelDirectory.open(place)).search(sources, search)
    theirs = fast_as(place, "float32").search(sources, search)
    same = [a[0].tokens == b[0].tokens for a, b in zip(ours, theirs, strict=True)]
    assert sum(same) >= 0.97 * len(sources)  # it may stop before the last hope is gone
    for a, b, equal in zip(ours, theirs, same, strict=True):
        if equal:
            assert b[0].log_prob == pytest.approx(a[0].log_prob, rel=1e-4, abs=1e-3)
            assert b[0].score == pytest.approx(a[0].score, abs=1e-3)


def test_both_engines_score_alike(directory, sources) -> None:
    targets = load_tokenizer(directory).encode_targets([target for _, target in pairs(60)])
    ours = open_reference(ModelDirectory.open(directory)).score(sources, targets)
    theirs = fast_as(directory, "float32").score(sources, targets)
    for a, b, target in zip(ours, theirs, targets, strict=True):
        assert len(a) == len(target) + 1
        assert b == pytest.approx(a, abs=1e-3)


def test_a_sentence_alone_is_held_to_its_own_limit(directory, sources) -> None:
    """A longer sentence beside it would let it run on."""
    engine = fast_as(directory, "float32")
    search = Search(extra_length=0)
    short = min(sources, key=len)
    together = engine.search([short, max(sources, key=len)], search)
    assert together[0] == engine.search([short], search)[0]
    assert len(together[0][0].tokens) <= len(short)


def test_the_fast_engine_begins_with_a_prefix_as_torch_does(directory, sources) -> None:
    prefixes = [[7, 9]] * len(sources)
    found = open_fast(ModelDirectory.open(directory)).search(sources, prefixes=prefixes)
    assert texts(found) == texts(
        open_reference(ModelDirectory.open(directory)).search(sources, prefixes=prefixes)
    )
    assert all(best.tokens[:2] == (7, 9) for best, *_ in found)


def test_the_fast_engine_is_made_once_and_found_again(tmp_path) -> None:
    place = model_directory(tmp_path / "model")
    said: list[str] = []
    open_engine(ModelDirectory.open(place), log=said.append)
    assert said == ["preparing the fast engine of model, this once"]
    open_engine(ModelDirectory.open(place), log=said.append)
    assert len(said) == 1


def test_how_a_machine_runs_a_model_is_measured_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    measured = []
    monkeypatch.setattr(loader, "fastest", lambda _: measured.append(1) or Setting("float32"))
    place = model_directory(tmp_path / "model")
    assert [open_engine(ModelDirectory.open(place)).setting for _ in range(3)] == [
        Setting("float32")
    ] * 3
    assert len(measured) == 1
    (remembered,) = (tmp_path / "cache" / "transduce" / "settings").iterdir()
    remembered.write_text("[]")
    open_engine(ModelDirectory.open(place))
    assert len(measured) == 2


@pytest.mark.parametrize("harm", ["model.bin", "transduce.json", "vmap.txt"])
def test_a_damaged_fast_engine_is_made_again(tmp_path, harm) -> None:
    place = model_directory(tmp_path / "model")
    open_engine(ModelDirectory.open(place))
    (place / "ctranslate2" / harm).write_bytes(b"{}")
    said: list[str] = []
    engine = open_engine(ModelDirectory.open(place), log=said.append)
    assert engine.name == "ctranslate2"
    assert said == ["preparing the fast engine of model, this once"]


def test_another_models_fast_engine_is_not_used(tmp_path) -> None:
    place, other = (model_directory(tmp_path / n, seed=s) for n, s in (("a", 1), ("b", 2)))
    open_engine(ModelDirectory.open(other))
    (other / "ctranslate2").rename(place / "ctranslate2")
    said: list[str] = []
    open_engine(ModelDirectory.open(place), log=said.append)
    assert said == ["preparing the fast engine of a, this once"]


def test_where_one_may_not_write_the_fast_engine_is_kept_in_the_cache(
    tmp_path, monkeypatch
) -> None:
    place = model_directory(tmp_path / "model")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real = loader.write_fast

    def refused(directory, out):
        if out.parent == directory.path:
            raise PermissionError(13, "Permission denied")
        real(directory, out)

    monkeypatch.setattr(loader, "write_fast", refused)
    assert open_engine(ModelDirectory.open(place)).name == "ctranslate2"
    assert not (place / "ctranslate2").exists()
    assert list((tmp_path / "cache" / "transduce").iterdir())
    assert open_engine(ModelDirectory.open(place), log=pytest.fail).name == "ctranslate2"


def test_what_ctranslate2_cannot_run_runs_on_torch_and_says_so_once(tmp_path) -> None:
    place = model_directory(tmp_path / "model", attention="additive")
    said: list[str] = []
    assert open_engine(ModelDirectory.open(place), log=said.append).name == "torch"
    assert said[-1] == (
        "the fast engine cannot run this model, torch does: "
        "model.attention = 'additive' cannot be expressed as a CTranslate2 model"
    )
    assert len(said) == 2
    with pytest.raises(ModelError, match=r"the fast engine cannot run .* cannot be expressed"):
        open_engine(ModelDirectory.open(place), "ctranslate2")
    assert not (place / "ctranslate2").exists()


def test_a_library_that_fails_is_no_reason_to_fail(tmp_path, monkeypatch) -> None:
    place = model_directory(tmp_path / "model")

    def broken(*_, **__):
        raise RuntimeError("unsupported CPU")

    monkeypatch.setattr(ctranslate2, "Translator", broken)
    said: list[str] = []
    assert open_engine(ModelDirectory.open(place), log=said.append).name == "torch"
    assert said[-1] == "the fast engine cannot run this model, torch does: unsupported CPU"


def test_a_broken_model_is_said_to_be_broken(tmp_path) -> None:
    place = model_directory(tmp_path / "model")
    (place / "model.safetensors").write_bytes(b"?")
    for kind in ("auto", "torch", "ctranslate2"):
        with pytest.raises(ModelError, match=r"model.safetensors is damaged"):
            open_engine(ModelDirectory.open(place), kind)
    with pytest.raises(ModelError, match="no model directory"):
        open_engine(ModelDirectory.open(tmp_path / "nowhere"))


def test_a_source_beyond_the_positions_of_the_fast_engine_is_refused(directory) -> None:
    with pytest.raises(InputError, match="is longer than the 1024 that the fast engine was made"):
        open_fast(ModelDirectory.open(directory)).search([[5] * 2000])


def test_nothing_in_a_fast_engine_is_executable(directory) -> None:
    open_fast(ModelDirectory.open(directory))
    files = list((directory / "ctranslate2").iterdir())
    assert all(file.suffix in (".bin", ".json", ".txt") for file in files)
    assert not any(file.stat().st_mode & stat.S_IXUSR for file in files)


def test_the_torch_engine_of_an_empty_list_finds_nothing(directory) -> None:
    assert TorchEngine(untrained(20)).search([]) == []
    assert open_fast(ModelDirectory.open(directory)).search([]) == []


def test_batches_on_several_cores_find_what_one_core_finds(directory, sources) -> None:
    engine, threads = open_reference(ModelDirectory.open(directory)), torch.get_num_threads()
    alone = engine.search(sources, batch_size=len(sources))
    torch.set_num_threads(3)
    together = engine.search(sources, batch_size=4)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    assert [h[0].tokens for h in together] == [h[0].tokens for h in alone]


def test_what_goes_wrong_on_another_core_is_said_here(directory, sources) -> None:
    engine, threads = open_reference(ModelDirectory.open(directory)), torch.get_num_threads()
    torch.set_num_threads(2)
    wrong = [*sources, (10**6,)]
    with pytest.raises(InputError, match="outside the vocabulary"):
        engine.search(wrong, batch_size=4)
    torch.set_num_threads(threads)
