"""Minimum risk training (Shen et al., 2016): candidates with a better BLEU become more probable.

The risk of a sentence is its expected cost, Σ q c: the cost c of a candidate is 1 − BLEU, and q is
the softmax of the candidates' scores, log p ÷ length penalty. The derivative by a candidate's score
is q (c − risk), so that the gradient is that of a weighted sum of log-probabilities. The weights
are computed without dropout, from the scores that the search for candidates has found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor, nn

from transduce.batches import Batch
from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.loss import sequence_loss
from transduce.model import Transformer
from transduce.search import Hypothesis, Search, length_penalty
from transduce.tokenizer import AnyTokenizer

LIKELIHOOD = 0.1  # weight of the ordinary loss beside the risk, which keeps the network fluent


@dataclass(frozen=True)
class Candidates:
    """Sentences and, in adjacent rows of the target, the candidates of each and its reference."""

    source: Int[Tensor, "sentences source"]
    target_in: Int[Tensor, "rows target"]
    target_out: Int[Tensor, "rows target"]
    weights: Float[Tensor, "sentences candidates"]  # of their negative log-probabilities
    risk: float  # summed over sentences, each as often as its reference has tokens


class Risk:
    """Finds candidates and their weights."""

    def __init__(self, network: Transformer, tokenizer: AnyTokenizer, count: int) -> None:
        self.network = network
        self.tokenizer = tokenizer
        self.search = Search(beam=count, n_best=count)
        self.bleu = BLEU(effective_order=True, smooth_method="add-k", smooth_value=1)

    def candidates(self, batch: Batch) -> Candidates:
        sources = self._sentences(batch.source)
        references = self._sentences(batch.target_out)
        training = self.network.training
        engine = TorchEngine(self.network)
        found = engine.search_batch([Request(ids, self.search) for ids in sources])
        self.network.train(training)
        rows, weights, total = [], [], 0.0
        for hypotheses, reference in zip(found, references, strict=True):
            ended = [h for h in hypotheses if h.ended]
            values, risk = self._weights(ended, reference)
            missing = self.search.beam - len(ended)
            length = len(reference) + 1
            rows += [*(h.tokens for h in ended), *[reference] * (missing + 1)]
            weights.append([*(length * value for value in values), *[0.0] * missing])
            total += length * risk
        config, device = self.network.config, batch.source.device
        inputs = self._padded([[config.bos_id, *ids] for ids in rows]).to(device)
        outputs = self._padded([[*ids, config.eos_id] for ids in rows]).to(device)
        weighted = torch.tensor(weights, device=device)
        return Candidates(batch.source, inputs, outputs, weighted, total)

    def _weights(
        self, hypotheses: list[Hypothesis], reference: list[int]
    ) -> tuple[list[float], float]:
        """The derivative of a sentence's risk by −log p of each hypothesis, and the risk."""
        if not hypotheses:
            return [], 1.0
        wanted = self.tokenizer.decode(reference)
        texts = [self.tokenizer.decode(h.tokens) for h in hypotheses]
        bleu = [self.bleu.sentence_score(text, [wanted]).score for text in texts]
        costs = 1 - torch.tensor(bleu, dtype=torch.float64) / 100
        q = torch.tensor([h.score for h in hypotheses], dtype=torch.float64).softmax(0)
        risk = (q * costs).sum()
        lengths = [length_penalty(len(h.tokens) + 1, self.search) for h in hypotheses]
        weights = q * (risk - costs) / torch.tensor(lengths, dtype=torch.float64)
        return weights.tolist(), float(risk)

    def _sentences(self, rows: Int[Tensor, "sentences length"]) -> list[list[int]]:
        """The ids of each row before EOS."""
        eos = self.network.config.eos_id
        return [row[: row.index(eos)] for row in rows.tolist()]

    def _padded(self, rows: Sequence[Sequence[int]]) -> Int[Tensor, "rows longest"]:
        pad, tensors = self.network.config.pad_id, [torch.tensor(row) for row in rows]
        return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=pad)


class RiskObjective(nn.Module):
    """The network, the risk and the ordinary loss as one module, for DistributedDataParallel."""

    def __init__(self, network: Transformer, smoothing: float) -> None:
        super().__init__()
        self.network = network
        self.smoothing = smoothing

    def forward(self, found: Candidates) -> tuple[Tensor, Tensor]:
        """The risk with a share of the loss of the references, and their loss without smoothing."""
        network = self.network
        weight, bias, pad_id = network.output.weight, network.output.bias, network.config.pad_id
        each = found.weights.shape[1] + 1
        states, _ = network.decode_states(found.target_in, network.encode(found.source))
        states, target = (x.unflatten(0, (-1, each)) for x in (states, found.target_out))
        likelihood = sequence_loss(
            states[:, -1], target[:, -1], weight, bias, self.smoothing, pad_id
        )
        surrogate = sequence_loss(
            states[:, :-1].flatten(0, 1),
            target[:, :-1].flatten(0, 1),
            weight,
            bias,
            0.0,
            pad_id,
            weights=found.weights.flatten(),
        ).smoothed
        risk = surrogate - surrogate.detach() + found.risk  # the risk, with its gradient
        return risk + LIKELIHOOD * likelihood.smoothed, likelihood.nll
