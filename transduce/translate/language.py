"""Which language a text is in, by its most frequent words; no answer rather than a wrong one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex  # type: ignore[import-untyped]

from transduce.errors import optional

# Of English and German, common words that are rare in the other: not "die", "in" and "was".
WORDS = {
    "de": """aber als am auch auf aus bei beim bin bist bitte da danke das dass dein deine dem den
        der des deutsch dich dir dort du ein eine einem einen einer eines er es euch für gibt
        guten haben habe hast hat hatte hier ich ihm ihn ihnen ihr im immer ist ja jetzt kann kein
        keine kommt können mein meine mich mir mit morgen muss möchte nach nein nicht nichts noch
        nur oder sagte schon sehr sein sich sie sind so tag uns und viel vom von wann warum weil
        wenn wer werden wie willst wir wird wo wollte wurde zu zum zur über""",
    "en": """a about all an and are as at be because been but by can could did do does don't for
        from get going had has have he her him his how i i'm if is it it's its just know like make
        many me more my no not now of on one or our said she some than that that's the their them
        then there these they think this to up us very want we were what when where which who why
        with would yes you your""",
    "fr": """le la les un une des du de et est je tu il elle nous vous ils elles ne pas que qui
        dans pour sur avec ce cette ces mon ma mes ton son sa ses au aux mais ou où plus très suis
        êtes sont était ai avez c'est j'ai n'est qu'il comme tout bien être avoir fait""",
    "es": """el la los las un una unos de del y es yo tú él ella nosotros ellos no que en por para
        con su sus mi mis tu lo le se al pero más muy como está estoy son soy eres hay este esta
        esto qué cómo dónde cuando porque también tiene tengo fue era ha""",
    "it": """il lo la gli le un una di del della dei e è io tu lui lei noi voi loro non che per
        con su suo sua mio mia tuo ma più molto come sono sei siamo questo questa cosa perché
        anche ho hai ha abbiamo era dove quando nel nella al alla""",
    "nl": """de het een en van ik je jij hij zij wij we ze is niet dat op te met voor aan er maar
        om ook als dan naar bij uit nog wel wat waar hoe mijn jouw zijn haar heeft heb hebben kan
        moet zal wordt deze dit geen""",
    "pt": """o a os as um uma de do da dos das e é eu tu ele ela nós eles não que em por para com
        seu sua meu minha se ao mas mais muito como está estou são sou este esta isso você tem
        tenho foi era no na nos""",
}
COMMON = {code: frozenset(words.split()) for code, words in WORDS.items()}
ENOUGH = 0.25  # share of a text's words that are common words of its language
FACTOR = 3  # so many times the other language's
MARGIN = 2  # common words of another language more than of the expected one
LETTERS = 8  # in another script at least

DETECTED = 2000  # characters at most that `detect` reads
NOT_A_LANGUAGE = "zxx"

_WORD = regex.compile(r"\p{L}+(?:['’]\p{L}+)*")
_LATIN, _LETTER = regex.compile(r"\p{Latin}"), regex.compile(r"\p{L}")


def plain_language(text: str) -> str | None:
    """The language of a text, "de" or "en", or None if that is not plain."""
    words = _words(text)
    counts = {code: sum(word in COMMON[code] for word in words) for code in ("de", "en")}
    best, other = sorted(counts, key=counts.__getitem__, reverse=True)
    plain = counts[best] >= max(2, ENOUGH * len(words), FACTOR * counts[other])
    return best if plain else None


def mostly(language: str, texts: Iterable[str]) -> bool:
    """Whether more than half of the texts that are not blank are plainly in a language."""
    found = [plain_language(text) == language for text in texts if text.strip()]
    return 2 * sum(found) > len(found)


def other_language(text: str, expected: str | None) -> bool:
    """Whether a text is plainly not in the expected language.

    False if the words of that language are not known, or if the text is too short or too mixed.

    >>> other_language("Où est la gare ?", "en"), other_language("Hi Anna!", "en")
    (True, False)
    """
    if expected not in COMMON:
        return False
    letters = len(_LETTER.findall(text))
    if letters >= LETTERS and len(_LATIN.findall(text)) < letters / 4:
        return True
    words = set(_words(text))
    counts = {code: len(words & common) for code, common in COMMON.items()}
    wanted = counts.pop(expected)
    return max(counts.values()) >= wanted + MARGIN


@dataclass(frozen=True)
class Detected:
    """A language and its probability among all that are known."""

    language: str
    probability: float

    def to_json(self) -> dict[str, Any]:
        """As clients of LibreTranslate expect it: the confidence in %."""
        return {"confidence": round(100 * self.probability, 1), "language": self.language}


def detect(text: str, preferred: Sequence[str] = (), sure: float = 0.5) -> Detected:
    """The language of a text, among all that py3langid knows.

    If that is less probable than `sure`, which is usual for one or two words, the most probable
    of the `preferred` languages; probability 0 and the first of them if there are no letters.
    """
    start = text[:DETECTED]
    if not _LETTER.search(start):
        return Detected(next(iter(preferred), "en"), 0.0)
    ranks = [(code, float(p)) for code, p in _identifier().rank(start) if code != NOT_A_LANGUAGE]
    wanted = {code.partition("-")[0]: code for code in reversed(preferred)}
    best, probability = ranks[0]
    if probability < sure and wanted:
        if (plain := plain_language(start)) in wanted:
            ranks = [one for one in ranks if one[0] == plain]
        best, probability = next((one for one in ranks if one[0] in wanted), ranks[0])
    return Detected(wanted.get(best, best), probability)


@cache
def _identifier() -> Any:
    with optional("detection"):
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]
