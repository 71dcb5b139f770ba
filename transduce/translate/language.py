"""Whether a text is plainly German or English, by its most frequent words."""

import re
from collections.abc import Iterable

# Common words of one language that are rare in the other: not "die", "in" and "was".
WORDS = {
    "de": """aber als am auch auf aus bei bin bist da das dass dem den der deutsch dich dir du ein
        eine einem einen einer er es für gibt guten haben habe hast hat hatte ich ihm ihn ihr im
        immer ist ja jetzt kann kein keine kommt können mein meine mich mir mit morgen muss nach
        nein nicht nichts noch nur oder sagte schon sehr sein sich sie sind so tag uns und viel vom
        von warum wenn werden wie wir wird wo wollte wurde zu zum zur über""",
    "en": """a about an and are as at be but by can could did do does for from had has have he
        his how i if is it just know like me my no not of on one or our she some that the their
        there they this to up we were what when where which who why with would you your""",
}
COMMON = {code: frozenset(words.split()) for code, words in WORDS.items()}
ENOUGH = 0.25  # share of a text's words that are common words of its language
FACTOR = 3  # so many times the other language's

_WORD = re.compile(r"[^\W\d_]+")


def plain_language(text: str) -> str | None:
    """The language of a text, "de" or "en", or None if that is not plain."""
    words = [word.lower() for word in _WORD.findall(text)]
    counts = {code: sum(word in some for word in words) for code, some in COMMON.items()}
    best, other = sorted(counts, key=counts.__getitem__, reverse=True)
    plain = counts[best] >= max(2, ENOUGH * len(words), FACTOR * counts[other])
    return best if plain else None


def mostly(language: str, texts: Iterable[str]) -> bool:
    """Whether more than half of the texts that are not blank are plainly in a language."""
    found = [plain_language(text) == language for text in texts if text.strip()]
    return 2 * sum(found) > len(found)
