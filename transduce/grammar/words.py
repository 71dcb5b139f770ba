"""The smaller word classes of the built-in grammar: determiners, pronouns, names, adjectives."""

from collections.abc import Mapping

from transduce.grammar import english, german
from transduce.grammar.german import Gender, Pattern
from transduce.grammar.lexicon import (
    Adjective,
    Determiner,
    Modal,
    Name,
    Phrase,
    adjective,
    lines,
    pronoun,
)


def _indefinite(english: str, german: str, pattern: Pattern = "viel") -> Determiner:
    return Determiner("", english, german, pattern, definite=False)


def _possessive(english: str, german: str) -> Determiner:
    return Determiner(english, english, german, "ein", definite=True)


THE = Determiner("the", "the", "", "der", definite=True)
THIS = Determiner("this", "these", "dies", "dieser", definite=True)
EVERY = Determiner("every", "", "jed", "dieser", definite=True)
WHICH = Determiner("which", "which", "welch", "dieser", definite=True)
A = Determiner("a", "", "ein", "ein", definite=False)
NO = Determiner("no", "no", "kein", "ein", definite=False)
BARE = Determiner("", "", "", "bare", definite=False)
HOW_MANY = _indefinite("how many", "wie viel")
QUANTIFIERS = (
    _indefinite("some", "einig"),
    _indefinite("many", "viel"),
    _indefinite("several", "mehrer"),
    _indefinite("a few", "ein paar", "bare"),
)
NUMERALS = tuple(
    _indefinite(english.number_word(n), german.number_word(n), "bare") for n in range(2, 100)
)
MY = _possessive("my", "mein")
YOUR = _possessive("your", "dein")
HIS = _possessive("his", "sein")
HER = _possessive("her", "ihr")
OUR = _possessive("our", "unser")
THEIR = _possessive("their", "ihr")
POSSESSIVES = (MY, YOUR, HIS, HER, OUR, THEIR)

I = pronoun("I me", "ich mich mir", "1s", MY)  # noqa: E741
YOU = pronoun("you you", "du dich dir", "2s", YOUR)
HE = pronoun("he him", "er ihn ihm", "3s", HIS)
SHE = pronoun("she her", "sie sie ihr", "3s", HER)
WE = pronoun("we us", "wir uns uns", "1p", OUR)
THEY = pronoun("they them", "sie sie ihnen", "3p", THEIR)
PERSONAL = (I, YOU, HE, SHE, WE, THEY)
IT = pronoun("it it", "es es ihm", "3s", None)  # only the it of weather and clock
THERE = pronoun("there there", "es es ihm", "3s", None)
WHO = pronoun("who who", "wer wen wem", "3s", None)
WHAT = pronoun("what what", "was was was", "3s", None)
NOBODY = pronoun("nobody nobody", "niemand niemanden niemandem", "3s", None)
SOMEBODY = pronoun("somebody somebody", "jemand jemanden jemandem", "3s", None)


def _names(gender: Gender, names: str) -> tuple[Name, ...]:
    return tuple(Name(name, name, name, gender) for name in names.split())


def _titled(gender: Gender, english: str, german: str, oblique: str) -> tuple[Name, ...]:
    surnames = (
        "Müller",
        "Schmidt",
        "Weber",
        "Fischer",
        "Becker",
        "Wagner",
        "Schneider",
        "Hoffmann",
    )
    return tuple(
        Name(f"{english} {x}", f"{german} {x}", f"{oblique} {x}", gender) for x in surnames
    )


WOMEN = _names("f", "Anna Maria Laura Sophie Julia Emma Lena Clara Nina Eva Paula")
MEN = _names("m", "Peter Paul David Martin Simon Anton Oskar Daniel Robert Erik")
LADIES = _titled("f", "Mrs.", "Frau", "Frau")
GENTLEMEN = _titled("m", "Mr.", "Herr", "Herrn")
CITIES = tuple(
    Phrase(*entry)
    for entry in lines(
        """
        Berlin = Berlin
        Hamburg = Hamburg
        Munich = München
        Cologne = Köln
        Leipzig = Leipzig
        Vienna = Wien
        Zurich = Zürich
        Paris = Paris
        London = London
        Rome = Rom
        Prague = Prag
        """
    )
)
COUNTRIES = tuple(
    Phrase(*entry)
    for entry in lines(
        """
        Germany = Deutschland
        Austria = Österreich
        France = Frankreich
        Italy = Italien
        Spain = Spanien
        Poland = Polen
        """
    )
)

ALL_ADJECTIVES = tuple(
    adjective(*entry)
    for entry in lines(
        """
        old: older = alt, älter
        young: younger = jung, jünger
        big: bigger = groß, größer
        tall: taller = groß, größer
        small: smaller = klein, kleiner
        rich: richer = reich, reicher
        strong: stronger = stark, stärker
        friendly: friendlier = freundlich, freundlicher
        polite = höflich
        famous: more famous = berühmt, berühmter
        clever: cleverer = klug, klüger
        nice: nicer = nett, netter
        happy: happier = glücklich, glücklicher
        sad = traurig
        tired = müde
        hungry = hungrig
        thirsty = durstig
        sick = krank
        busy = beschäftigt
        angry = wütend
        nervous = nervös
        brave: braver = mutig, mutiger
        lazy: lazier = faul, fauler
        curious = neugierig
        white = weiß
        black = schwarz
        red = rot
        blue = blau
        green = grün
        brown = braun
        dark = dunkel
        new: newer = neu, neuer
        modern: more modern = modern, moderner
        expensive: more expensive = teuer, teurer
        cheap: cheaper = billig, billiger
        beautiful: more beautiful = schön, schöner
        fast: faster = schnell, schneller
        slow: slower = langsam, langsamer
        heavy: heavier = schwer, schwerer
        long: longer = lang, länger
        short: shorter = kurz, kürzer
        interesting: more interesting = interessant, interessanter
        boring: more boring = langweilig, langweiliger
        exciting: more exciting = spannend, spannender
        important: more important = wichtig, wichtiger
        difficult: more difficult = schwierig, schwieriger
        easy: easier = einfach, einfacher
        funny: funnier = lustig, lustiger
        good = gut
        bad = schlecht
        fresh = frisch
        delicious = lecker
        cold = kalt
        warm = warm
        hot = heiß
        sunny = sonnig
        foggy = neblig
        windy = windig
        quiet: quieter = ruhig, ruhiger
        clean = sauber
        dirty = schmutzig
        broken = kaputt
        """
    )
)
ADJECTIVE: Mapping[str, Adjective] = {word.english: word for word in ALL_ADJECTIVES}

_FITTING = {
    "kin": "old, young, tall, nice, clever, famous, rich, funny",
    "person": "old, young, tall, nice, friendly, polite, happy, sad, tired, rich, strong",
    "child": "small, nice, friendly, polite, happy, sad, tired, clever, hungry",
    "profession": "old, young, friendly, famous, clever, polite, nervous, tired, new, good, busy",
    "pet": "small, old, young, white, black, brown, hungry, beautiful, lazy, curious, sick",
    "farm animal": "big, small, old, young, brown, white, hungry, lazy",
    "wild animal": "small, old, young, hungry, beautiful",
    "snack": "fresh, delicious, big, small, cheap",
    "staple": "fresh, delicious, good, cheap",
    "baked": "fresh, warm, delicious, good",
    "dish": "hot, cold, delicious, good",
    "drink": "cold, good, expensive",
    "literature": "long, short, interesting, boring, beautiful, new, funny, sad, exciting",
    "correspondence": "long, short, interesting, boring, important, new",
    "periodical": "old, new, interesting",
    "music": "long, short, beautiful, new, old, sad, funny",
    "clothes": "red, blue, green, white, black, warm, new, old, expensive",
    "vehicle": "red, blue, green, new, old, expensive, fast, small, cheap, dirty, broken",
    "vessel": "old, new, white, big, small, fast, beautiful",
    "transport": "big, old, new, modern, slow, fast",
    "portable": "new, old, small, big, red, blue, black, expensive, cheap, beautiful",
    "trinket": "new, old, small, cheap, expensive",
    "image": "beautiful, old, new, small, funny",
    "gift": "beautiful, small, big, expensive",
    "device": "new, old, modern, expensive, broken, cheap, small, heavy",
    "furniture": "new, old, big, small, heavy, brown, white, beautiful, cheap",
    "opening": "old, big, small, green, broken, dirty",
    "home": "old, new, big, small, modern, beautiful, expensive, dark, quiet",
    "structure": "old, new, modern, beautiful, famous",
    "event": "long, short, interesting, boring, exciting, important",
    "screen": "long, new, old, interesting, boring, exciting, funny, sad",
    "task": "difficult, easy, important, long, new",
    "thought": "good, bad, new, interesting, important, difficult",
    "room": "big, small, dark, clean, new, warm, dirty",
    "garden": "big, small, beautiful, quiet",
    "eatery": "small, new, expensive, cheap, good, famous, quiet",
    "shop": "big, small, new, old, cheap",
    "study": "old, new, big, small, modern, quiet",
    "sight": "old, famous, big, beautiful, interesting, modern",
    "outdoors": "quiet, big, small, beautiful, clean",
    "settlement": "small, old, beautiful, big, quiet",
    "transit": "old, new, modern, big, small",
    "service": "old, new, modern, big, small",
}
ADJECTIVES: Mapping[str, tuple[Adjective, ...]] = {
    kind: tuple(ADJECTIVE[name] for name in names.split(", ")) for kind, names in _FITTING.items()
}


def _modal(entry: str, german: str, negatable: bool, adverb: str = "") -> Modal:
    present, _, past = entry.partition("/")
    return Modal(
        present, past, entry.startswith(("want", "have", "like")), negatable, german, adverb
    )


CAN = _modal("can/could", "können", negatable=True)
MUST = _modal("must", "müssen", negatable=False)  # "must not" would be nicht dürfen
HAVE_TO = _modal("have to/had to", "müssen", negatable=True)
WANT_TO = _modal("want to/wanted to", "wollen", negatable=True)
SHOULD = _modal("should", "sollen", negatable=True)
MAY = _modal("may", "dürfen", negatable=False)
WOULD_LIKE_TO = _modal("would like to", "möchten", negatable=False)
LIKE_TO = _modal("like to/liked to", "", negatable=True, adverb="gern")
MODALS = (CAN, MUST, HAVE_TO, WANT_TO, SHOULD, MAY, WOULD_LIKE_TO)
