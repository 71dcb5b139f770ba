"""The engines: their results agree, and the router chooses the right one."""

import json
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ctranslate2
import numpy as np
import pytest
import torch
from models import best, model_directory, pairs, search, untrained

from transduce.directory import ModelDirectory
from transduce.directory.weights import LARGEST
from transduce.engines import Request, router
from transduce.engines.router import open_ctranslate2, open_engine
from transduce.engines.torch_engine import TorchEngine, batches
from transduce.errors import InputError, ModelError
from transduce.search import GREEDY, PAPER, Search, length_penalty
from transduce.search.constraints import Never


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return ModelDirectory.open(model_directory(tmp_path_factory.mktemp("engines") / "model"))


@pytest.fixture(scope="module")
def sources(directory):
    return directory.tokenizer.encode_batch([source for source, _ in pairs(60)])


@pytest.fixture(scope="module")
def torch_engine(directory):
    return open_engine(directory, engine="torch")


def texts(found):
    return [[h.tokens for h in hypotheses] for hypotheses in found]


def fast_as(directory, compute, shortlist=True):
    engine = open_ctranslate2(directory, compute=compute)
    engine.shortlist = engine.shortlist if shortlist else None
    return engine


@pytest.mark.parametrize("settings", [GREEDY, Search(n_best=4), Search(beam=2, alpha=1.0)])
def test_the_score_that_search_reports_is_the_one_that_score_computes(
    torch_engine, sources, settings
) -> None:
    found = search(torch_engine, sources, settings)
    for rank in range(settings.n_best):
        ranked = [hypotheses[rank] for hypotheses in found if len(hypotheses) > rank]
        of = [source for source, all_ in zip(sources, found, strict=True) if len(all_) > rank]
        scored = torch_engine.score(of, [h.tokens for h in ranked])
        for hypothesis, log_probs in zip(ranked, scored, strict=True):
            if not hypothesis.ended:
                log_probs = log_probs[:-1]
            assert hypothesis.log_probs == pytest.approx(log_probs, abs=1e-4)
            penalty = length_penalty(len(log_probs), settings)
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
def test_search_is_batch_invariant(directory, torch_engine, sources, kind) -> None:
    engine = torch_engine if kind == "torch" else fast_as(directory, kind)
    sources = sources[: 12 if kind == "torch" else None]
    alone = best(engine, sources, batch_size=1)
    for size in (13, 64):
        assert best(engine, sources, batch_size=size) == alone
    order = list(range(len(sources)))
    random.Random(3).shuffle(order)
    assert best(engine, [sources[i] for i in order]) == [alone[i] for i in order]
    assert best(engine, [*sources, *sources]) == alone + alone
    by_length = sorted(order, key=lambda i: len(sources[i]))
    assert best(engine, [sources[i] for i in by_length]) == [alone[i] for i in by_length]


@pytest.mark.parametrize("kind", ["torch", "int8"])
def test_a_batch_may_mix_search_settings(directory, torch_engine, sources, kind) -> None:
    engine = torch_engine if kind == "torch" else fast_as(directory, kind)
    mixed = [GREEDY, PAPER, Search(beam=2, n_best=2)]
    requests = [Request(source, mixed[i % 3]) for i, source in enumerate(sources[:12])]
    together = texts(engine.search(requests))
    assert together == [texts(engine.search([request]))[0] for request in requests]
    assert [len(found) for found in together] == [1, 1, 2] * 4


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "pre"},
        {"positions": "learned", "max_positions": 200},
        {"positions": "sinusoidal-concatenated"},
        {"share_embeddings": "target"},
        {"share_embeddings": "none"},
        {"attention_bias": False, "activation": "gelu"},
        {"n_encoder_layers": 3, "n_decoder_layers": 1, "scale_embeddings": False},
    ],
    ids=str,
)
def test_ctranslate2_finds_what_torch_finds(tmp_path, sources, settings) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model", shortlist=False, **settings))
    ours = search(open_engine(place, engine="torch"), sources, Search(n_best=2))
    theirs = search(fast_as(place, "float32"), sources, Search(n_best=2))
    same = [a[0].tokens == b[0].tokens for a, b in zip(ours, theirs, strict=True)]
    assert sum(same) >= 0.97 * len(sources)  # CTranslate2 may stop a little earlier
    for a, b, equal in zip(ours, theirs, same, strict=True):
        if equal:
            assert b[0].log_prob == pytest.approx(a[0].log_prob, rel=1e-4, abs=1e-3)
            assert b[0].score == pytest.approx(a[0].score, abs=1e-3)


def test_both_engines_give_the_same_scores(directory, torch_engine, sources) -> None:
    targets = directory.tokenizer.encode_targets([target for _, target in pairs(60)])
    ours = torch_engine.score(sources, targets)
    theirs = fast_as(directory, "float32").score(sources, targets)
    for a, b, target in zip(ours, theirs, targets, strict=True):
        assert len(a) == len(target) + 1
        assert b == pytest.approx(a, abs=1e-3)


def test_a_length_limit_does_not_depend_on_longer_sentences_in_the_batch(
    directory, sources
) -> None:
    engine = fast_as(directory, "float32")
    settings = Search(extra_length=0)
    short = min(sources, key=len)
    together = search(engine, [short, max(sources, key=len)], settings)
    assert together[0] == search(engine, [short], settings)[0]
    assert len(together[0][0].tokens) <= len(short)


def test_the_integer_weights_have_seven_bits_and_so_no_sum_of_two_products_saturates(
    directory, tmp_path, monkeypatch
) -> None:
    """255 · 63 · 2 < 2¹⁵; the weights are taken from the calls that write them."""
    written = []
    variable = ctranslate2.specs.model_spec.NumpyVariable
    to_bytes = variable.to_bytes
    monkeypatch.setattr(variable, "to_bytes", lambda v: written.append(v.numpy()) or to_bytes(v))
    router.write_converted(directory, tmp_path / "fast")
    matrices = [array for array in written if array.dtype == np.int8 and array.ndim == 2]
    assert len(matrices) >= 2 * 6
    for matrix in matrices:
        assert 255 * 2 * int(np.abs(matrix.astype(int)).max()) <= np.iinfo(np.int16).max
        assert np.abs(matrix.astype(int)).max() == LARGEST


def test_the_dtype_follows_from_the_device_and_is_never_timed(directory) -> None:
    engine = open_engine(directory)
    assert (engine.name, engine.device, engine.compute) == ("ctranslate2", "cpu", "int8")
    assert open_engine(directory, engine="torch").compute == "float32"
    assert open_engine(directory, compute="float32").compute == "float32"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "cuda"}, "finds no CUDA device here: use --device cpu"),
        ({"device": "cuda", "engine": "torch"}, "torch finds no CUDA device here"),
        ({"compute": "float16"}, "does not compute in float16 on this cpu"),
        ({"compute": "int8", "engine": "torch"}, "the torch engine computes in float32, not int8"),
        ({"engine": "onnx"}, "'onnx' is not one of auto, torch, ctranslate2"),
    ],
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_what_this_machine_does_not_support_is_an_error(directory, options, sentence) -> None:
    with pytest.raises(ModelError, match=sentence):
        open_engine(directory, **{"engine": "ctranslate2", **options})


def test_requests_that_ctranslate2_does_not_support_go_to_torch(directory, sources) -> None:
    engine, alone = open_engine(directory), open_engine(directory, engine="torch")
    requests = [
        Request(sources[0]),
        Request(sources[1], prefix=(7, 9)),
        Request(sources[2], constraint=lambda _: Never([5, 6])),
        Request([5] * (engine.fast.longest - 5), Search(beam=1, extra_length=5)),
    ]
    assert [engine.fast.unsupported(request) is None for request in requests] == [
        True,
        False,
        False,
        False,
    ]
    found = engine.search(requests)
    assert texts(found[1:]) == texts(alone.search(requests[1:]))
    assert found[1][0].tokens[:2] == (7, 9)
    assert not {5, 6} & set(found[2][0].tokens)
    with pytest.raises(InputError, match="CTranslate2 does not decode under constraints"):
        engine.fast.search(requests)


def test_torch_is_opened_once_and_only_when_needed(directory, sources, monkeypatch) -> None:
    opened = []
    network = ModelDirectory.network
    monkeypatch.setattr(
        ModelDirectory, "network", lambda d, device: opened.append(1) or network(d, device)
    )
    engine = open_engine(directory)
    search(engine, sources[:3])
    assert not opened
    prefixed = [Request(source, prefix=(7,)) for source in sources[:4]]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda r: engine.search([r]), prefixed))
    engine.search(prefixed)
    assert len(opened) == 1


def test_long_pairs_are_scored_by_torch(directory, torch_engine) -> None:
    long = [5, 6, 7] * 500
    both = open_engine(directory).score([[5, 6], long], [[7, 8], [9]])
    assert both[1] == pytest.approx(torch_engine.score([long], [[9]])[0], abs=1e-4)
    assert len(both[0]) == 3


@pytest.mark.parametrize("kind", ["auto", "torch"])
def test_opening_and_searching_have_no_global_side_effects(directory, kind) -> None:
    """Number of threads, environment and malloc settings do not change."""
    code = f"""
import ctypes, json, os, sys, torch
from pathlib import Path
torch.set_num_threads(3)
environment = dict(os.environ)
sys.path.insert(0, {str(directory.path)!r})
from transduce.directory import ModelDirectory
from transduce.engines import Request
from transduce.engines.router import open_engine
from transduce import machine
machine.keep_memory = None  # to call it would be an error
engine = open_engine(ModelDirectory.open({str(directory.path)!r}), engine={kind!r})
engine.search([Request([5, 6, 7 + i]) for i in range(9)], batch_size=2)
engine.torch_engine.search([Request([5, 6, 7 + i]) for i in range(9)], batch_size=2)
print(json.dumps([torch.get_num_threads(), dict(os.environ) == environment]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [3, True]
    assert done.stderr == ""


@pytest.mark.parametrize("kind", ["auto", "torch"])
def test_concurrent_searches_equal_sequential_searches(directory, sources, kind) -> None:
    engine = open_engine(directory, engine=kind)
    threads = torch.get_num_threads()
    expected = [best(engine, sources[i : i + 10], batch_size=4) for i in range(0, 60, 10)]
    with ThreadPoolExecutor(6) as pool:
        parts = [sources[i : i + 10] for i in range(0, 60, 10)]
        found = list(pool.map(lambda part: best(engine, part, batch_size=4), parts))
    assert found == expected
    assert torch.get_num_threads() == threads


def test_a_model_is_converted_once_and_found_again(tmp_path) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model"))
    logged: list[str] = []
    open_engine(place, log=logged.append)
    assert logged == ["converting model for CTranslate2 (once)"]
    open_engine(place, log=logged.append)
    assert len(logged) == 1


@pytest.mark.parametrize("harm", ["model.bin", "transduce.json", "vmap.txt"])
def test_a_damaged_conversion_is_repeated(tmp_path, harm) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model"))
    open_engine(place)
    (place.path / "ctranslate2" / harm).write_bytes(b"{}")
    logged: list[str] = []
    engine = open_engine(place, log=logged.append)
    assert engine.name == "ctranslate2"
    assert logged == ["converting model for CTranslate2 (once)"]


def test_a_conversion_with_eight_bits_is_repeated(tmp_path) -> None:
    """Version 0.1 wrote weights whose products saturate on some CPUs."""
    place = ModelDirectory.open(model_directory(tmp_path / "model"))
    open_engine(place)
    stamp = place.path / "ctranslate2" / "transduce.json"
    content = json.loads(stamp.read_text("utf-8"))
    del content["bits"]
    stamp.write_text(json.dumps(content), "utf-8")
    logged: list[str] = []
    open_engine(place, log=logged.append)
    assert logged == ["converting model for CTranslate2 (once)"]


def test_another_models_conversion_is_not_used(tmp_path) -> None:
    place, other = (
        ModelDirectory.open(model_directory(tmp_path / name, seed=seed))
        for name, seed in (("a", 1), ("b", 2))
    )
    open_engine(other)
    (other.path / "ctranslate2").rename(place.path / "ctranslate2")
    logged: list[str] = []
    open_engine(place, log=logged.append)
    assert logged == ["converting a for CTranslate2 (once)"]


def test_a_read_only_model_is_converted_in_the_cache(tmp_path, monkeypatch) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real = router.write_converted

    def read_only(directory, out, int8):
        if out.parent == directory.path:
            raise PermissionError(13, "Permission denied")
        real(directory, out, int8)

    monkeypatch.setattr(router, "write_converted", read_only)
    assert open_engine(place).name == "ctranslate2"
    assert not (place.path / "ctranslate2").exists()
    assert list((tmp_path / "cache" / "transduce").iterdir())
    assert open_engine(place, log=pytest.fail).name == "ctranslate2"


def test_what_ctranslate2_cannot_run_runs_on_torch_and_is_logged_once(tmp_path) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model", attention="additive"))
    logged: list[str] = []
    assert open_engine(place, log=logged.append).name == "torch"
    assert logged[-1] == (
        "CTranslate2 cannot run this model, using torch: "
        "model.attention = 'additive' cannot be expressed as a CTranslate2 model"
    )
    assert len(logged) == 2
    with pytest.raises(ModelError, match=r"CTranslate2 cannot run .* cannot be expressed"):
        open_engine(place, engine="ctranslate2")
    assert not (place.path / "ctranslate2").exists()


def test_where_ctranslate2_fails_torch_runs(tmp_path, monkeypatch) -> None:
    place = ModelDirectory.open(model_directory(tmp_path / "model"))

    def broken(*_, **__):
        raise RuntimeError("unsupported CPU")

    monkeypatch.setattr(ctranslate2, "Translator", broken)
    logged: list[str] = []
    assert open_engine(place, log=logged.append).name == "torch"
    assert logged[-1] == "CTranslate2 cannot run this model, using torch: unsupported CPU"


def test_nothing_in_a_conversion_is_executable(directory) -> None:
    open_engine(directory)
    files = list((directory.path / "ctranslate2").iterdir())
    assert all(file.suffix in (".bin", ".json", ".txt") for file in files)
    assert not any(file.stat().st_mode & stat.S_IXUSR for file in files)


def test_no_requests_find_nothing(directory) -> None:
    assert TorchEngine(untrained(20)).search([]) == []
    assert open_engine(directory).search([]) == []
    assert open_engine(directory).score([], []) == []


def test_batches_on_several_cores_give_the_results_of_one_core(torch_engine, sources) -> None:
    threads = torch.get_num_threads()
    alone = best(torch_engine, sources, batch_size=len(sources))
    torch.set_num_threads(3)
    together = best(torch_engine, sources, batch_size=4)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    assert together == alone


def test_an_error_in_a_worker_thread_is_raised_in_the_caller(torch_engine, sources) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(InputError, match="outside the vocabulary"):
        search(torch_engine, [*sources, (10**6,)], batch_size=4)
    torch.set_num_threads(threads)


def test_a_long_sentence_shares_its_batch_with_no_more_than_memory_allows() -> None:
    lengths = [10, 4000, 20, 600, 4096, 30, 600]
    assert list(batches(lengths, 64)) == [[0, 2, 5, 3, 6], [1], [4]]
    assert list(batches(lengths[:1] * 5, 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches([], 2)) == []


def test_both_engines_give_the_same_alignment_weights_in_any_batch(
    directory, torch_engine, sources
) -> None:
    targets = best(torch_engine, sources, GREEDY)
    fast = fast_as(directory, "float32", shortlist=False)
    weights = fast.alignment_weights(sources, targets)
    for a, b in zip(weights, torch_engine.alignment_weights(sources, targets), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    assert [w.shape for w in weights] == [
        (len(t), len(s)) for s, t in zip(sources, targets, strict=True)
    ]
    fast = fast_as(directory, "int8")
    weights = fast.alignment_weights(sources, targets)
    for i in range(0, len(sources), 5):
        (alone,) = fast.alignment_weights(sources[i : i + 1], targets[i : i + 1])
        np.testing.assert_array_equal(alone, weights[i])
    assert fast.alignment_weights([[5]], [[]])[0].shape == (0, 1)
