"""Text checks for tokenised or lowercased text, whose scores are not comparable."""

from collections.abc import Sequence

TOKENISED = 0.1  # share of lines that end in " ."; almost 0 in detokenised text
LOWERCASED = 0.9  # share of lines with letters that have no capital


def check_text(name: str, lines: Sequence[str]) -> list[str]:
    """A warning for each check that the lines fail; `name` is in the plural."""
    found = []
    written = [line for line in lines if line.strip()]
    share = _share([line.endswith(" .") for line in written])
    if share >= TOKENISED:
        found.append(
            f'{name} look tokenised ({100 * share:.0f} % of the lines end in " ."): '
            "detokenise them, or the scores are not comparable"
        )
    cased = [line for line in written if line.lower() != line.upper()]
    share = _share([line == line.lower() for line in cased])
    if share >= LOWERCASED:
        found.append(
            f"{name} look lowercased ({100 * share:.0f} % of the lines have no capital letter): "
            "use cased text, or compare only bleu_lowercase"
        )
    return found


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if answers else 0.0
