"""The paper's Figures 3, 4 and 5: its sentences, read by any model that reads English."""

from dataclasses import dataclass, replace

import numpy as np

from transduce.attend.heads import HeadReport, measure_heads
from transduce.attend.reader import Reader, builtin_texts
from transduce.attend.report import CLAIMS
from transduce.attend.view import Choice, View, choose, kinds_of, row_of, strongest, view_of
from transduce.errors import InputError, ModelError
from transduce.table import render_list
from transduce.translate.attention import Attention

SPIRIT = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 "
    "making the registration or voting process more difficult."
)
LAW = (
    "The Law will never be perfect, but its application should be just - this is what we are "
    "missing, in my opinion."
)
DISTANT = 5  # words


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """A figure of the paper from another model: what is drawn, and what is seen in it."""

    number: int
    title: str
    claim: str  # of the paper
    found: str  # in this model
    attention: Attention
    view: View
    panels: list[tuple[str, Choice]]  # a title for each


def paper_figure(number: int, reader: Reader, report: HeadReport | None = None) -> PaperFigure:
    """Figure 3, 4 or 5 in the last encoder layer but one, its heads chosen by their measures.

    `report` has the measures, by default those on the built-in sentences.
    """
    if reader.source_language not in ("", "en"):
        raise InputError(
            f"Figure {number} is of an English sentence, and this model reads "
            f"{reader.source_language}: give a model that reads English with --model"
        )
    reader = replace(reader, source_language="en")
    attention = reader.attention(SPIRIT if number == 3 else LAW)
    if "encoder" not in kinds_of(attention):
        raise ModelError(
            f"Figure {number} shows encoder self-attention, which this model does not have"
        )
    view = view_of(attention, "encoder")
    report = report or measure_heads(reader, builtin_texts(), losses=False)
    draw = {3: _long_distance, 4: _anaphora, 5: _structure}[number]
    return draw(attention, view, report)


def render(figure: PaperFigure) -> str:
    """The paper's claim beside what this model does."""
    layer = figure.panels[0][1].layer
    title = f"Figure {figure.number}: {figure.title}; layer {layer} of {figure.view.n_layers}"
    items = {"the paper": [figure.claim], "this model": [figure.found]}
    return render_list(title, items)


def _long_distance(attention: Attention, view: View, report: HeadReport) -> PaperFigure:
    choice = choose(view, None, word="making")
    share, equal = _share(view, choice, ("more", "difficult"))
    every = strongest(view, choice, len(view.keys) * view.n_heads)
    far = [link for link in every if abs(link.distance) >= DISTANT][:3]
    links = ", ".join(f"{link.key} {_percent(link.weight)} (head {link.head})" for link in far)
    found = (
        f"“more” and “difficult” have {_percent(share)} of the weight from “making”, the mean of "
        f"{view.n_heads} heads ({_percent(equal)} if all weights were equal). The strongest links "
        f"of {DISTANT} words or more: {links}."
    )
    claim = "Many heads attend to “more difficult”, the distant complement of the verb “making”."
    panels = [("", choice)]
    title = "long-distance dependencies from “making”"
    return PaperFigure(3, title, claim, found, attention, view, panels)


def _anaphora(attention: Attention, view: View, report: HeadReport) -> PaperFigure:
    layer = choose(view, None).layer
    first, second = _heads(report, "anaphora", layer)
    its = Choice(layer, (first, second), row_of(view, "its"))
    share, equal = _share(view, its, ("Law", "application"))
    (best, *_) = strongest(view, its, 1)
    found = (
        f"{_measured(report, 'anaphora', layer)} From “its”, these two heads put "
        f"{_percent(share)} of their weight on “Law” and “application” ({_percent(equal)} if all "
        f"weights were equal); their strongest link is to “{best.key}”, {_percent(best.weight)}."
    )
    claim = (
        "Two heads seem to resolve anaphora: from “its” their weight is sharply on “Law” and "
        "“application”."
    )
    panels = [
        (f"head {first}, all words", Choice(layer, (first,))),
        (f"heads {first} and {second}, from “its”", its),
    ]
    return PaperFigure(4, "anaphora", claim, found, attention, view, panels)


def _structure(attention: Attention, view: View, report: HeadReport) -> PaperFigure:
    layer = choose(view, None).layer
    first, second = _heads(report, "structure", layer)
    a, b = view.of(layer, first), view.of(layer, second)
    overlap = float(np.minimum(a, b).sum(1).mean())
    found = (
        f"{_measured(report, 'structure', layer)} On this sentence the weights of the two overlap "
        f"by {_percent(overlap)}."
    )
    claim = (
        "Many heads seem to follow the structure of the sentence, and two of them have clearly "
        "learned different tasks."
    )
    panels = [(f"head {head}", Choice(layer, (head,))) for head in (first, second)]
    return PaperFigure(5, "the structure of the sentence", claim, found, attention, view, panels)


def _heads(report: HeadReport, name: str, layer: int) -> tuple[int, int]:
    """The two heads of a layer most like an example; twice the same if there is only one."""
    first, second = (report.ranked(name, layer) * 2)[:2]
    return first.head.head, second.head.head


def _measured(report: HeadReport, name: str, layer: int) -> str:
    """What made the heads the most similar of the layer."""
    first, second = (report.ranked(name, layer) * 2)[:2]
    heads, shares = f"head {first.head.head}", _percent(first.share)
    if second.head != first.head:
        heads = f"heads {first.head.head} and {second.head.head}"
        shares += f" and {_percent(second.share)}"
    return (
        f"In {heads}, {shares} {CLAIMS[name][1]} ({_percent(first.equal)} if all weights were "
        f"equal), more than in the others of this layer, on {report.sentences:,} sentences."
    )


def _share(view: View, choice: Choice, words: tuple[str, ...]) -> tuple[float, float]:
    """The mean weight that the row puts on words, and what equal weights would put on them."""
    keys = [j for j, key in enumerate(view.keys) if key in words]
    heads = [view.of(choice.layer, head)[choice.row, keys].sum() for head in choice.heads]
    return float(np.mean(heads)), len(keys) / len(view.keys)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
