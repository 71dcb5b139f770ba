"""Validation: perplexity and the metrics of the task."""

import math
from dataclasses import dataclass

import torch

from transduce.batches import collate, plan_validation
from transduce.model import Network
from transduce.search import GREEDY, Search
from transduce.tasks import LOW_SCORE, Metric
from transduce.train.prepare import Prepared
from transduce.train.processes import Processes


@dataclass(frozen=True)
class ValidationScores:
    """Scores on the validation data; `metrics` is empty if nothing was decoded."""

    nll: float  # per token, without label smoothing
    tokens: int
    metrics: dict[Metric, float]
    sentences: int = 0  # decoded for the metrics
    beam: int = 1
    low_score: float | None = None  # below which an output is unusual

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.nll, 700))

    def beats(self, other: "ValidationScores") -> bool:
        """Whether the perplexity is better and the main metric, if there is one, is not worse."""
        values = [next(iter(scores.metrics.values()), 0.0) for scores in (self, other)]
        return self.nll < other.nll and values[0] >= values[1]

    def entry(self) -> dict[str, float]:
        """For metrics.jsonl."""
        metrics = {metric.name: value for metric, value in self.metrics.items()}
        return {"nll": self.nll, "perplexity": self.perplexity, **metrics}

    def __str__(self) -> str:
        parts = [f"validation perplexity {self.perplexity:,.3f}"]
        parts += [metric.text(value) for metric, value in self.metrics.items()]
        parts += [f"beam {self.beam}"] if self.metrics and self.beam > 1 else []
        return "  ".join(parts)


@torch.inference_mode()
def validate(
    model: Network,
    data: Prepared,
    sentences: int,
    processes: Processes,
    search: Search = GREEDY,
    tokens_per_batch: int = 4096,
) -> ValidationScores:
    """Scores the model; the perplexity is computed by all processes, rank 0 alone decodes."""
    model.eval()
    task, store = data.task, data.valid
    nll, count = 0.0, 0
    plan = plan_validation(store, tokens_per_batch)
    for indices in plan[processes.rank :: processes.world]:
        batch = collate(store, indices).to(processes.device)
        loss = model.loss(batch, smoothing=0.0)
        nll += float(loss.nll)
        count += loss.tokens
    nll, total = processes.sum([nll, float(count)])
    metrics: dict[Metric, float] = {}
    values: dict[str, float] = {}
    decoded = min(sentences, len(store)) if task.metrics else 0
    if decoded and processes.first:
        values = task.judge(model, data.tokenizer, store, decoded, search)
        metrics = {metric: values[metric.name] for metric in task.metrics}
    low = values.get(LOW_SCORE)
    return ValidationScores(nll / total, int(total), metrics, decoded, search.beam, low)
