"""Text that no longer looks as people write it, so that its scores compare with nobody's."""

from collections.abc import Sequence

TELLING = 0.1  # of lines that end in a lone full stop: hardly any of written text do
LOWERCASED = 0.9  # of lines without a capital letter, of those that have letters with case


def suspicions(name: str, lines: Sequence[str]) -> list[str]:
    """What is odd about these lines, each in a sentence; `name` is in the plural."""
    found = []
    written = [line for line in lines if line.strip()]
    share = _share([line.endswith(" .") for line in written])
    if share >= TELLING:
        found.append(
            f'{name} look tokenised ({100 * share:.0f} % of the lines end in " ."): '
            "detokenise them, or the scores compare with nobody's"
        )
    cased = [line for line in written if line.lower() != line.upper()]
    share = _share([line == line.lower() for line in cased])
    if share >= LOWERCASED:
        found.append(
            f"{name} look lowercased ({100 * share:.0f} % of the lines have no capital letter): "
            "take text with its capitals, or compare bleu_lowercase alone"
        )
    return found


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if answers else 0.0
