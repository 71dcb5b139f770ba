"""Noise of real input, as additional training pairs beside the clean ones.

Every alteration takes a pair and returns an altered one, or None if it does not apply.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Literal, get_args

from transduce.corpus.invention import invented_digits, invented_name
from transduce.corpus.pair import Pair

Kind = Literal[
    "capitals",
    "lowercase",
    "no_final_punctuation",
    "join",
    "swap_names",
    "swap_numbers",
    "typos",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Alteration = Callable[[Pair, Random], Pair | None]

RECENT = 1000  # pairs among which those to join are drawn
MOST_WORDS = 500_000  # whose capitalisation is remembered
MOST_NAMES = 5000  # that replace others

FINAL = re.compile(r"[.!?…。！？]+[\"'”“’»]?$")
NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,:/-]\d+)*(?!\w)")
_WORD = re.compile(r"[^\W\d_]+")
_MID_SENTENCE = re.compile(r"(?<=[\w,] )[^\W\d_]+")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def add_noise(
    pairs: Iterable[Pair], shares: Mapping[Kind, float], seed: str
) -> Iterator[tuple[Kind | None, Pair]]:
    """Every pair, and altered copies with the kind of noise; a function of the seed.

    A share is the number of altered copies, on average, of a pair to which the noise applies.
    """
    names, recent = Names(), deque[Pair](maxlen=RECENT)
    alterations: dict[Kind, Alteration] = {
        "capitals": capitals,
        "lowercase": lowercase,
        "no_final_punctuation": no_final_punctuation,
        "join": partial(join, recent),
        "swap_names": names.swap,
        "swap_numbers": swap_numbers,
        "typos": typos,
    }
    active = [(kind, shares[kind], Random(f"{seed} {kind}")) for kind in KINDS if shares.get(kind)]
    for pair in pairs:
        yield None, pair
        if shares.get("swap_names"):
            names.observe(pair)
        for kind, share, rng in active:
            for _ in range(int(share) + (rng.random() < share % 1)):
                altered = alterations[kind](pair, rng)
                if altered is not None:
                    yield kind, altered
        recent.append(pair)


def capitals(pair: Pair, rng: Random) -> Pair | None:
    """Both sides in capitals; in one case of five, Every Word Of The Source Has A Capital."""
    if pair.source.isupper() or not _WORD.search(pair.source):
        return None
    if rng.random() < 0.2:
        words = (word[:1].upper() + word[1:] for word in pair.source.split(" "))
        return Pair(" ".join(words), pair.target)
    return Pair(pair.source.upper(), pair.target.upper())


def lowercase(pair: Pair, rng: Random) -> Pair | None:
    """The source, or only its first letter, in lower case; half of them without punctuation.

    The target keeps its case: it should be written correctly.
    """
    source = pair.source
    lowered = source.lower() if rng.random() < 0.5 else source[:1].lower() + source[1:]
    if lowered == source:
        return None
    pair = Pair(lowered, pair.target)
    return (rng.random() < 0.5 and no_final_punctuation(pair, rng)) or pair


def no_final_punctuation(pair: Pair, _rng: Random) -> Pair | None:
    """Without the final punctuation, on both sides."""
    ends = [FINAL.search(text) for text in pair]
    if not all(end and end.start() and not end[0].endswith(('"', "”", "“", "»")) for end in ends):
        return None
    return Pair(*(FINAL.sub("", text) for text in pair))


def join(recent: deque[Pair], pair: Pair, rng: Random) -> Pair | None:
    """Two or three sentences in one line; all but the last end with punctuation on both sides."""
    if not recent:
        return None
    others = [recent[rng.randrange(len(recent))] for _ in range(1 + (rng.random() < 0.3))]
    if not all(FINAL.search(text) for other in others for text in other):
        return None
    sources, targets = zip(*others, pair, strict=True)
    return Pair(" ".join(sources), " ".join(targets))


def typos(pair: Pair, rng: Random) -> Pair | None:
    """A typing error in the source, or two if it is long."""
    letters = list(pair.source)
    places = [
        place
        for word in _WORD.finditer(pair.source)
        if len(word[0]) > 3
        for place in range(word.start() + 1, word.end() - 1)
    ]
    if not places:
        return None
    count = 1 + (len(letters) > 50 and rng.random() < 0.5)
    for place in sorted(rng.sample(places, min(count, len(places))), reverse=True):
        letters[place : place + 2] = _mistyped(letters[place], letters[place + 1], rng)
    source = "".join(letters)
    return None if source == pair.source else Pair(source, pair.target)


def _mistyped(letter: str, following: str, rng: Random) -> str:
    """Two letters exchanged, one omitted, doubled, or replaced by its neighbour on the keyboard."""
    match rng.randrange(4):
        case 0:
            return following + letter
        case 1:
            return following
        case 2:
            return letter + letter + following
    row = next((row for row in _KEYBOARD if letter in row), letter)
    return row[(row.index(letter) + rng.choice((-1, 1))) % len(row)] + following


def swap_numbers(pair: Pair, rng: Random) -> Pair | None:
    """Numbers with the same digits on both sides, replaced by others on both sides.

    Separators stay as each side writes them: 1,000 and 1.000 may become 4,711 and 4.711.
    """
    if not NUMBER.search(pair.source):
        return None
    found = [Counter(map(_digits, numbers)) for numbers in map(NUMBER.findall, pair)]
    shared = [d for d in found[0] if found[0][d] == found[1][d] and d not in ("0", "1")]
    if not shared:
        return None
    forms = [n for text in pair for n in NUMBER.findall(text)]
    new = {d: invented_digits([n for n in forms if _digits(n) == d], rng) for d in shared}

    def replaced(match: re.Match[str]) -> str:
        number, digits = match[0], _digits(match[0])
        if digits not in new:
            return number
        if number.isdigit() and len(new[digits]) != len(digits):
            return new[digits]
        following = iter(new[digits])
        return "".join(next(following) if c.isdigit() else c for c in number)

    altered = Pair(*(NUMBER.sub(replaced, text) for text in pair))
    return None if altered == pair else altered


def _digits(number: str) -> str:
    return "".join(filter(str.isdigit, number))


class Names:
    """What the text so far tells about names: words with a capital also inside a sentence."""

    def __init__(self) -> None:
        self._capitalised = (Counter[str](), Counter[str]())  # minus occurrences in lower case
        self._known: list[str] = []

    def observe(self, pair: Pair) -> None:
        """Counts the words of a pair."""
        for counts, text in zip(self._capitalised, pair, strict=True):
            for word in _MID_SENTENCE.findall(text):
                if word.islower():
                    counts[word.capitalize()] -= 1
                elif _is_capitalised(word):
                    counts[word] += 1
            if len(counts) > MOST_WORDS:
                for word in [word for word, count in counts.items() if abs(count) < 2]:
                    del counts[word]

    def swap(self, pair: Pair, rng: Random) -> Pair | None:
        """Names that both sides share, replaced by names of other pairs and by invented ones."""
        words = [Counter(_WORD.findall(text)) for text in pair]
        names = self._shared(words)
        if not names:
            return None
        new = {}
        for name in names:
            if len(self._known) < MOST_NAMES and name not in self._known:
                self._known.append(name)
            other = rng.choice(self._known) if rng.random() < 0.5 else name
            if any(side[name + "s"] for side in words) and other.endswith(("s", "x", "z", "ß")):
                other = name  # its genitive is written in another way
            new[name] = other if other not in names else invented_name(rng)
        forms = re.compile(rf"\b({'|'.join(map(re.escape, names))})(?=s?\b)")
        return Pair(*(forms.sub(lambda match: new[match[1]], text) for text in pair))

    def _shared(self, words: Sequence[Counter[str]]) -> list[str]:
        """The names that both sides have equally often, also with an s or 's of the genitive."""
        return [
            name
            for name in sorted(set().union(*words))
            if len(name) > 1
            and _is_capitalised(name)
            and all(counts[name] > 0 for counts in self._capitalised)
            and len({side[name] + side[name + "s"] for side in words}) == 1
        ]


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and word[1:].islower()
