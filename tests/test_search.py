"""§6.1: beam search, on step functions so small that every output can be listed."""

import itertools
import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.search import GREEDY, Search, length_penalty
from transduce.search.beam import NEVER, _log_total, beam_search, best
from transduce.search.constraints import Never, Only, no_repeat, prefix
from transduce.search.sampling import Sampling, sampled

EOS = 0


@dataclass(frozen=True)
class Row:
    """A state with the sentence and the tokens of each row."""

    sentences: torch.Tensor  # of each sentence, its seed
    written: torch.Tensor  # of each row

    def select(self, rows, sentences):
        kept = self.sentences if sentences is None else self.sentences[sentences]
        return Row(kept, self.written[rows])


def logits_of(seed, written, vocabulary):
    """Scores that are a function of the sentence and the tokens so far."""
    generator = torch.Generator().manual_seed(hash((int(seed), *written)) % 2**31)
    return torch.randn(vocabulary, generator=generator) * 2


def step_for(vocabulary):
    def step(newest, state):
        written = torch.cat([state.written, newest[:, None]], dim=1)
        each = len(newest) // len(state.sentences)
        rows = [
            logits_of(state.sentences[i // each], tokens, vocabulary)
            for i, tokens in enumerate(written.tolist())
        ]
        return torch.stack(rows), Row(state.sentences, written)

    return step


def searched(seeds, limits, search, vocabulary=3, constraints=None, **how):
    state = Row(torch.tensor(seeds), torch.zeros(len(seeds), 0, dtype=torch.long))
    start = torch.full((len(seeds),), vocabulary)  # BOS cannot be written
    return beam_search(step_for(vocabulary), state, start, EOS, limits, search, constraints, **how)


def every_output(seed, limit, search, vocabulary=3):
    """All sequences of at most `limit` tokens that end with EOS, with their scores, best first."""
    outputs = []
    for length in range(limit):
        for tokens in itertools.product(range(1, vocabulary), repeat=length):
            log_probs = []
            for n, token in enumerate((*tokens, EOS)):
                row = logits_of(seed, [vocabulary, *tokens[:n]], vocabulary).log_softmax(-1)
                log_probs.append(float(row[token]))
            score = sum(log_probs) / length_penalty(length + 1, search)
            outputs.append((score, tokens, log_probs))
    return sorted(outputs, reverse=True)


@pytest.mark.parametrize("penalty", ["gnmt", "average", "none"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_full_beam_finds_the_result_of_exhaustive_search(penalty, alpha) -> None:
    limit = 5
    search = Search(beam=3**limit, alpha=alpha, penalty=penalty, n_best=4)
    for seed in range(8):
        (found,) = searched([seed], [limit], search)
        wanted = every_output(seed, limit, search)[:4]
        assert [h.tokens for h in found] == [tokens for _, tokens, _ in wanted]
        for hypothesis, (score, _, log_probs) in zip(found, wanted, strict=True):
            assert hypothesis.score == pytest.approx(score, abs=1e-5)
            assert hypothesis.log_probs == pytest.approx(log_probs, abs=1e-5)
            assert hypothesis.log_prob == pytest.approx(sum(log_probs), abs=1e-5)
            assert hypothesis.ended


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.integers(1, 5), st.data())
def test_search_is_batch_invariant(seeds, beam, data) -> None:
    limits = [data.draw(st.integers(1, 12)) for _ in seeds]
    search = Search(beam=beam, n_best=min(beam, 2))
    together = searched(seeds, limits, search, vocabulary=6)
    for seed, limit, found in zip(seeds, limits, together, strict=True):
        assert searched([seed], [limit], search, vocabulary=6) == [found]


def test_a_beam_of_one_is_greedy_search() -> None:
    for seed in range(20):
        (found,) = searched([seed], [9], GREEDY, vocabulary=5)
        written = [5]
        while len(written) <= 9:
            token = int(logits_of(seed, written, 5).argmax())
            if token == EOS:
                break
            written.append(token)
        assert found[0].tokens == tuple(written[1:])
        assert found[0].ended == (len(written) <= 9)


def test_a_wider_beam_never_ends_with_a_worse_score_than_a_full_one() -> None:
    full = Search(beam=4**4)
    for seed in range(10):
        most = searched([seed], [4], full, vocabulary=4)[0][0].score
        for beam in (1, 2, 4):
            (found,) = searched([seed], [4], Search(beam=beam), vocabulary=4)
            assert not found[0].ended or found[0].score <= most + 1e-6


def test_search_stops_only_when_no_live_hypothesis_can_win() -> None:
    """A long output that becomes certain late beats a short one found early."""
    sure = [1] * 8

    def step(newest, state):
        written = torch.cat([state.written, newest[:, None]], dim=1)
        rows = torch.full((len(newest), 3), -20.0)
        for row, tokens in enumerate(written.tolist()):
            begun = tokens[1:]
            if not begun:
                rows[row] = torch.tensor([0.5, 0.4, 0.1]).log()  # ending at once is likeliest
            elif begun == sure[: len(begun)] and len(begun) < len(sure):
                rows[row, 1] = 0.0
            else:
                rows[row, 0] = 0.0
        return rows, Row(state.sentences, written)

    state = Row(torch.tensor([0]), torch.zeros(1, 0, dtype=torch.long))
    start = torch.tensor([3])
    (found,) = beam_search(step, state, start, EOS, [20], Search(beam=2, alpha=1.0))
    assert found[0].tokens == tuple(sure)
    (plain,) = beam_search(step, state, start, EOS, [20], Search(beam=2, penalty="none"))
    assert plain[0].tokens == ()


def test_a_hypothesis_at_the_length_limit_is_cut_and_ranks_below_all_that_ended() -> None:
    def never_ends(newest, state):
        rows = torch.tensor([-1e9, 0.0, -1.0]).repeat(len(newest), 1)
        return rows, state

    state = Row(torch.tensor([0]), torch.zeros(1, 0, dtype=torch.long))
    (found,) = beam_search(never_ends, state, torch.tensor([3]), EOS, [7], Search(beam=2))
    assert found[0].tokens == (1,) * 7
    assert not found[0].ended
    assert len(found[0].log_probs) == 7


@pytest.mark.parametrize("wanted", [[1], [2, 2], [3, 1, 2]])
def test_a_prefix_begins_every_hypothesis_and_counts_in_its_score(wanted) -> None:
    search = Search(beam=3, n_best=3)
    rules = [[], [prefix(wanted)]]
    free, forced = searched([5, 5], [9, 9], search, vocabulary=5, constraints=rules)
    assert free == searched([5], [9], search, vocabulary=5)[0]
    for hypothesis in forced:
        assert hypothesis.tokens[: len(wanted)] == tuple(wanted)
        tokens = (*hypothesis.tokens, EOS)[: len(hypothesis.log_probs)]
        for n, (token, log_prob) in enumerate(zip(tokens, hypothesis.log_probs, strict=True)):
            row = logits_of(5, [5, *tokens[:n]], 5).log_softmax(-1)
            assert log_prob == pytest.approx(float(row[token]), abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_repeat_excludes_repeated_n_grams(n) -> None:
    search = Search(beam=3, n_best=3)
    for seed in range(5):
        (found,) = searched([seed], [12], search, vocabulary=6, constraints=[[no_repeat(n)]])
        for hypothesis in found:
            grams = [hypothesis.tokens[i : i + n] for i in range(len(hypothesis.tokens) - n + 1)]
            assert len(grams) == len(set(grams))


def test_the_length_penalty_is_the_papers() -> None:
    # ((5 + n)/6)^0.6, worked out by hand for the values that matter
    for length, value in {1: 1.0, 5: 1.358655, 10: 1.732862, 20: 2.354362, 50: 3.778565}.items():
        assert length_penalty(length) == pytest.approx(value, abs=1e-6)
    assert length_penalty(7, Search(penalty="average", alpha=1.0)) == 7
    assert length_penalty(7, Search(penalty="none")) == 1
    assert math.isclose(length_penalty(10, Search(alpha=0.3)), 1.316382, abs_tol=1e-6)


def test_the_defaults_are_the_papers() -> None:
    assert (Search().beam, Search().alpha, Search().penalty) == (4, 0.6, "gnmt")
    assert Search().limit(20) == 70


@given(st.integers(1, 9), st.integers(1, 4), st.sampled_from([5, 191, 192, 3000, 5000]))
def test_the_best_scores_are_found_wherever_they_are(count, rows, vocabulary) -> None:
    scores = torch.randn(rows, vocabulary)
    count = min(count, vocabulary)
    where, top = best(scores, count, [0])
    assert torch.equal(top, scores.topk(count, dim=-1).values)
    assert torch.equal(scores.gather(1, where), top)
    torch.testing.assert_close(_log_total(scores)[:, 0], scores.logsumexp(-1))


def test_a_full_beam_under_a_constraint_finds_the_best_output_that_satisfies_it() -> None:
    """Token 2 comes only after token 1, and an output has at least two tokens."""

    def rule(tokens):
        if len(tokens) < 2:
            return Only([1, 2]) if tokens and tokens[-1] == 1 else Only([1])
        return None if tokens[-1] == 1 else Never([2])

    search = Search(beam=3**5, n_best=3)
    for seed in range(8):
        (found,) = searched([seed], [5], search, constraints=[[rule]])
        wanted = [
            tokens
            for _, tokens, _ in every_output(seed, 5, search)
            if len(tokens) >= 2
            and all(token in (1, 2) for token in tokens)
            and all(a == 1 or b == 1 for a, b in zip((2, *tokens), tokens, strict=False))
        ]
        assert [h.tokens for h in found] == wanted[:3]


def test_if_no_token_is_allowed_the_best_hypothesis_so_far_is_cut() -> None:
    def at_most_three(tokens):
        return Only([]) if len(tokens) == 3 else Never([EOS])

    free, cut = searched(
        [1, 2], [9, 9], Search(beam=2), vocabulary=4, constraints=[[], [at_most_three]]
    )
    assert free == searched([1], [9], Search(beam=2), vocabulary=4)[0]
    assert len(cut) == 1
    assert not cut[0].ended
    assert len(cut[0].tokens) == len(cut[0].log_probs) == 3
    (nothing,) = searched([3], [9], Search(), constraints=[[lambda _: Only([])]])
    assert [(h.tokens, h.ended, h.score) for h in nothing] == [((), False, 0.0)]


def test_a_constraint_is_called_only_with_hypotheses_that_satisfy_it() -> None:
    def rule(tokens):
        assert all(token == 1 for token in tokens)
        return Only([1]) if len(tokens) < 4 else Only([EOS])

    (found,) = searched([7], [9], Search(beam=3, n_best=3), constraints=[[rule]])
    assert [h.tokens for h in found] == [(1, 1, 1, 1)]


def drawn(sampling, scores, count=20_000):
    """How often each token is the first that is chosen."""
    rows = scores.repeat(count, 1)
    token, _ = sampled(sampling, [0])(rows, 1, [0])
    return torch.bincount(token.flatten(), minlength=len(scores)) / count


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_their_probability(temperature) -> None:
    scores = torch.tensor([1.0, 0.0, -1.0, 2.0, NEVER])
    found = drawn(Sampling(temperature), scores)
    torch.testing.assert_close(found, (scores / temperature).softmax(0), rtol=0, atol=0.02)
    assert found[4] == 0


def test_only_the_likeliest_tokens_are_drawn_with_top_k_and_top_p() -> None:
    scores = torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]).log()
    assert (drawn(Sampling(top_k=2), scores) > 0).tolist() == [True, True, False, False, False]
    found = drawn(Sampling(top_p=0.75), scores)
    assert (found > 0).tolist() == [True, True, True, False, False]
    torch.testing.assert_close(found[:3], torch.tensor([0.5, 0.2, 0.15]) / 0.85, rtol=0, atol=0.02)
    assert drawn(Sampling(top_p=1e-9), scores)[0] == 1


def test_a_sample_depends_on_its_seed_alone() -> None:
    greedy = Search(beam=1)
    seeds, limits = [4, 9, 4], [8, 12, 8]
    together = searched(seeds, limits, greedy, 6, choose=sampled(Sampling(), [70, 71, 72]))
    for i, (seed, limit) in enumerate(zip(seeds, limits, strict=True)):
        alone = searched([seed], [limit], greedy, 6, choose=sampled(Sampling(), [70 + i]))
        assert alone == [together[i]]
    many = {
        searched([4], [8], greedy, 6, choose=sampled(Sampling(), [seed]))[0][0].tokens
        for seed in range(20)
    }
    assert len(many) > 3
    log_probs = together[0][0].log_probs  # those of the model, without temperature
    row = logits_of(4, [6], 6).log_softmax(-1)
    first = (*together[0][0].tokens, EOS)[0]
    assert log_probs[0] == pytest.approx(float(row[first]), abs=1e-5)
