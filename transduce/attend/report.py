"""The heads of a model as tables and as JSON."""

import json
from dataclasses import asdict

from transduce.attend.heads import Example, HeadFacts, HeadReport
from transduce.attend.measures import FAR
from transduce.attend.view import KINDS
from transduce.log import plural
from transduce.table import paragraph, render_table

SHARES = {
    "previous": "prev",
    "same": "same",
    "next": "next",
    "special": "end",
    "punctuation": "punct",
    "far": "far",
}
CLAIMS = {
    "long_distance": (
        "long distance (Figure 3)",
        f"of its weight is on words {FAR} or more tokens away",
    ),
    "anaphora": (
        "anaphora (Figure 4)",
        "of the weight of pronouns is on content words before them",
    ),
    "structure": (
        "sentence structure (Figure 5)",
        "of the weight of a word is on other words of its clause, without its neighbours",
    ),
}
LEGEND = (
    "Entropy in bits; mean distance in tokens; shares of the weight in %: on the previous, same "
    "and next token (over the source: position), on </s> (in the decoder <s>), on punctuation and "
    f"on words {FAR} or more tokens away. Loss: what the loss per token grows by when the head is "
    "switched off. The role is the share that most exceeds that of equal weights; without a clear "
    "one, content (few words) or broad (many)."
)


def render(report: HeadReport, named: int = 2) -> str:
    """A table for each kind of attention, and the heads most like the paper's examples."""
    headings = ("layer", "head", "role", "bits", "dist", *SHARES.values(), "loss")
    parts = [paragraph(f"Every head on {plural(report.sentences, 'sentence')}. {LEGEND}")]
    for kind, title in KINDS.items():
        rows = [_row(head) for head in report.heads if head.kind == kind]
        if rows:
            sides = ">><" + ">" * (len(headings) - 3)
            parts.append(render_table(title[0].upper() + title[1:], headings, sides, rows))
    if "encoder" in report.measures:
        lines = ["Encoder heads most like the paper's examples"]
        for name, (title, share) in CLAIMS.items():
            found = report.examples(name)[:named]
            said = "; ".join(describe(one, share) for one in found) or "no head"
            lines.append(paragraph(f"{title}: {said}", "  ", "    "))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def describe(example: Example, share: str) -> str:
    """What a head does, beside a head with equal weights."""
    head = example.head
    return (
        f"layer {head.layer} head {head.head}, where {100 * example.share:.0f} % {share} "
        f"({100 * example.equal:.0f} % if all weights were equal)"
    )


def _row(head: HeadFacts) -> tuple[str, ...]:
    shares = [f"{100 * getattr(head, name):.0f}" for name in SHARES]
    loss = "–" if head.loss is None else signed(head.loss, 3)
    numbers = f"{head.entropy:.1f}", f"{head.distance:.1f}"
    return f"{head.layer}", f"{head.head}", head.role, *numbers, *shares, loss


def signed(number: float, digits: int) -> str:
    """A change, with its sign; none if it rounds to zero."""
    text = f"{number:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def to_json(report: HeadReport) -> str:
    examples = {
        name: [
            {"layer": e.head.layer, "head": e.head.head, "share": e.share, "equal": e.equal}
            for e in report.examples(name)
        ]
        for name in CLAIMS
    }
    heads = [asdict(head) for head in report.heads]
    return json.dumps(
        {"sentences": report.sentences, "heads": heads, "examples": examples}, indent=2
    )
