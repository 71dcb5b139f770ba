"""Text checks: tokenised or lowercased text, whose scores compare with nobody's."""

from collections.abc import Sequence

TOKENISED = 0.1  # of lines end in " .": in text as people write it hardly any do
LOWERCASED = 0.9  # of the lines that have letters with case have no capital


def check_text(name: str, lines: Sequence[str]) -> list[str]:
    """A warning for each check that the lines fail; `name` is in the plural."""
    found = []
    written = [line for line in lines if line.strip()]
    share = _share([line.endswith(" .") for line in written])
    if share >= TOKENISED:
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
