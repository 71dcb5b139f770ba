"""§5.4: label smoothing: the target distribution, both perplexities, and BLEU."""

import math

import torch

from transduce.charts import Bars, Line, Lines
from transduce.config import ModelConfig
from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.log import Log
from transduce.model import Transformer
from transduce.paper.why import Answer
from transduce.paper.why.corpus import Corpus, batch, batches, builtin
from transduce.paper.why.training import one_thread, train
from transduce.schedule import learning_rate
from transduce.search import GREEDY
from transduce.tasks.translation import corpus_bleu

RATES = (0.0, 0.1, 0.3)  # ε_ls
D_MODEL = 64
LONGEST = 16  # tokens of a sentence


def answer(quick: bool, seed: int, log: Log) -> Answer:
    drawn, tests = (2000, 80) if quick else (12_000, 400)
    corpus = builtin(drawn, tests, 600, seed, LONGEST)
    found, quantiles = dict[float, dict[str, float]](), dict[float, list[float]]()
    for epsilon in RATES[:2] if quick else RATES:
        log(f"training with ε = {epsilon}")
        found[epsilon], quantiles[epsilon] = measure(corpus, epsilon, 150 if quick else 1000, seed)
    plain, smooth = found[0.0], found[0.1]
    vocabulary = corpus.tokenizer.vocab_size
    floor = entropy(0.1, vocabulary)
    return Answer(
        (
            f"With ε = 0.1 the right token is to have probability 0.9 and each other of the "
            f"{vocabulary:,} tokens {0.1 / (vocabulary - 1):.1e}: the loss cannot fall below the "
            f"entropy of that, {floor:.2f} nats, and certainty above 0.9 is punished.",
            f"So the model is less sure: its likeliest token has {smooth['confidence']:.2f} on "
            f"average instead of {plain['confidence']:.2f}, and perplexity, which asks for the "
            f"right token's probability, is {smooth['perplexity']:.2f} instead of "
            f"{plain['perplexity']:.2f} (with the smoothed targets {smooth['smoothed']:.1f} "
            f"instead of {plain['smoothed']:.1f}).",
            "BLEU asks only which token is likeliest: it is right in "
            f"{100 * smooth['accuracy']:.1f} % of the cases instead of "
            f"{100 * plain['accuracy']:.1f} %, and BLEU is {smooth['bleu']:.1f} instead of "
            f"{plain['bleu']:.1f} in these small runs of one seed; in "
            "Table 3 smoothing costs 0.25 of perplexity (4.92, 4.67) and brings 0.5 BLEU.",
        ),
        ("ε", "perplexity", "smoothed", "mean of the likeliest", "accuracy", "BLEU"),
        [
            (
                f"{epsilon:g}",
                f"{one['perplexity']:.2f}",
                f"{one['smoothed']:.2f}",
                f"{one['confidence']:.3f}",
                f"{100 * one['accuracy']:.1f} %",
                f"{one['bleu']:.1f}",
            )
            for epsilon, one in found.items()
        ],
        {
            "floor": floor,
            "vocabulary": vocabulary,
            "results": {f"{epsilon:g}": one for epsilon, one in found.items()},
        },
        [
            Bars(
                f"target distribution over {vocabulary:,} tokens",
                "probability",
                ["right token", "all others together"],
                {f"ε = {epsilon:g}": [1 - epsilon, epsilon] for epsilon in found},
                digits=1,
            ),
            Bars(
                "perplexity on test sentences",
                "perplexity",
                [f"ε = {epsilon:g}" for epsilon in found],
                {
                    "of the right tokens": [one["perplexity"] for one in found.values()],
                    "of the smoothed targets": [one["smoothed"] for one in found.values()],
                },
            ),
            Lines(
                "how sure the model is",
                "probability of the likeliest token",
                "share of the predictions below",
                [
                    Line(f"ε = {epsilon:g}", values, [i / 20 for i in range(21)], color)
                    for color, (epsilon, values) in enumerate(quantiles.items())
                ],
            ),
            Bars(
                "translation of test sentences",
                "BLEU",
                [f"ε = {epsilon:g}" for epsilon in found],
                {"": [one["bleu"] for one in found.values()]},
            ),
        ],
    )


def entropy(epsilon: float, vocabulary: int) -> float:
    """Of the smoothed target distribution, in nats: the least possible loss."""
    rest = epsilon / (vocabulary - 1)
    return -(1 - epsilon) * math.log(1 - epsilon) - epsilon * math.log(rest)


def measure(
    corpus: Corpus, epsilon: float, steps: int, seed: int
) -> tuple[dict[str, float], list[float]]:
    """Trains with ε: perplexities, confidence, accuracy and BLEU, and quantiles of confidence."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=corpus.tokenizer.vocab_size, d_model=D_MODEL, d_ff=128, n_heads=4, n_layers=1
    )
    model = Transformer(config)
    warmup = max(steps // 5, 1)

    def rate(step: int) -> float:
        return learning_rate(step, D_MODEL, warmup, 0.4)

    train(model, batches(corpus.train, 32, steps, seed), rate, epsilon)
    tests = batch(corpus.test)
    with one_thread(), torch.no_grad():
        loss = model.loss(tests, 0.1)
        real = tests.target_out != 0
        best, tokens = model(tests.source, tests.target_in)[real].softmax(-1).max(-1)
        requests = [Request(source, GREEDY) for source, _ in corpus.test]
        outputs = [found[0].tokens for found in TorchEngine(model).search(requests)]
    quantiles = best.double().quantile(torch.linspace(0, 1, 21, dtype=torch.float64))
    scores = {
        "perplexity": math.exp(float(loss.nll) / loss.tokens),
        "smoothed": math.exp(float(loss.smoothed) / loss.tokens),
        "confidence": float(best.mean()),
        "accuracy": float((tokens == tests.target_out[real]).double().mean()),
        "bleu": corpus_bleu([corpus.tokenizer.decode(ids) for ids in outputs], corpus.references),
    }
    return scores, quantiles.tolist()
