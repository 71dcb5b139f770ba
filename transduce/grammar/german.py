"""German inflection: articles, adjective endings, nouns, verbs and number words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Case = Literal["nom", "acc", "dat", "gen"]
Gender = Literal["m", "f", "n"]
Slot = Literal["m", "f", "n", "p"]  # a gender, or the plural, which has none
Person = Literal[
    "1s", "2s", "3s", "1p", "3p"
]  # "you" is always du: English cannot tell du from ihr
Pattern = Literal["der", "dieser", "ein", "viel", "bare"]  # how a determiner inflects

CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")
SLOTS: tuple[Slot, ...] = ("m", "f", "n", "p")
PERSONS: tuple[Person, ...] = ("1s", "2s", "3s", "1p", "3p")

Paradigm = Mapping[tuple[Case, Slot], str]


def _paradigm(*rows: str) -> Paradigm:
    """One row per case, one column per slot; a lone dash is the empty ending."""
    return {
        (case, slot): "" if form == "-" else form
        for case, row in zip(CASES, rows, strict=True)
        for slot, form in zip(SLOTS, row.split(), strict=True)
    }


DER = _paradigm("der die das die", "den die das die", "dem der dem den", "des der des der")
DIES = _paradigm("er e es e", "en e es e", "em er em en", "es er es er")
EIN = _paradigm("- e - e", "en e - e", "em er em en", "es er es er")
WEAK = _paradigm("e e e en", "en e e en", "en en en en", "en en en en")
MIXED = _paradigm("er e es en", "en e es en", "en en en en", "en en en en")
STRONG = _paradigm("er e es e", "en e es e", "em er em en", "en er en er")
RELATIVE = _paradigm(
    "der die das die", "den die das die", "dem der dem denen", "dessen deren dessen deren"
)

_ADJECTIVE_ENDINGS: Mapping[Pattern, Paradigm] = {
    "der": WEAK,
    "dieser": WEAK,
    "ein": MIXED,
    "viel": STRONG,
    "bare": STRONG,
}
_CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}


def determiner(stem: str, pattern: Pattern, case: Case, slot: Slot) -> str:
    """The inflected determiner: dies- → diesem, mein- → meine; bare words do not change."""
    if pattern == "der":
        return DER[case, slot]
    if pattern == "bare":
        return stem
    return stem + (EIN if pattern == "ein" else DIES)[case, slot]


def adjective_ending(pattern: Pattern, case: Case, slot: Slot) -> str:
    """Weak after der and dieser, mixed after ein and mein, strong after viele, zwei or nothing."""
    return _ADJECTIVE_ENDINGS[pattern][case, slot]


def attributive_stem(adjective: str) -> str:
    """What the ending is added to: müde → müd-, teuer → teur-, dunkel → dunkl-."""
    if adjective.endswith("e"):
        return adjective[:-1]
    if adjective.endswith(("uer", "el")):
        return adjective[:-2] + adjective[-1]
    return adjective


def contract(preposition: str, article: str) -> str:
    """Preposition and definite article: in + dem → im, auf + dem → auf dem."""
    phrase = f"{preposition} {article}"
    return _CONTRACTIONS.get(phrase, phrase)


def _expand(stem: str, notation: str) -> str:
    """Dictionary notation: a leading dash adds to the stem, anything else is the whole form."""
    return stem + notation[1:] if notation.startswith("-") else notation


def decline_singular(nominative: str, gender: Gender, genitive: str) -> Mapping[Case, str]:
    """The four singular cases of "Junge", "m", "-n": a genitive in -n marks a weak noun."""
    gen = _expand(nominative, genitive)
    oblique = gen if gender == "m" and genitive in ("-n", "-en") else nominative
    return {"nom": nominative, "acc": oblique, "dat": oblique, "gen": gen}


def decline_plural(nominative: str, plural: str) -> Mapping[Case, str]:
    """The four plural cases: the dative adds -n unless the plural ends in n or s."""
    form = _expand(nominative, plural)
    dative = form if form[-1] in "ns" else form + "n"
    return {"nom": form, "acc": form, "dat": dative, "gen": form}


@dataclass(frozen=True, slots=True, eq=False)
class GermanVerb:
    """Everything the clause needs of a verb; the prefix "Klavier " keeps its space."""

    infinitive: str
    prefix: str
    present: Mapping[Person, str]
    preterite: Mapping[Person, str] | None  # only for verbs that use it in speech
    participle: str
    auxiliary: Mapping[Person, str]
    reflexive: bool


def _by_person(forms: str) -> Mapping[Person, str]:
    return dict(zip(PERSONS, forms.split(), strict=True))


IRREGULAR_PRESENT: Mapping[str, Mapping[Person, str]] = {
    "sein": _by_person("bin bist ist sind sind"),
    "haben": _by_person("habe hast hat haben haben"),
    "werden": _by_person("werde wirst wird werden werden"),
    "wissen": _by_person("weiß weißt weiß wissen wissen"),
    "mögen": _by_person("mag magst mag mögen mögen"),
    "können": _by_person("kann kannst kann können können"),
    "müssen": _by_person("muss musst muss müssen müssen"),
    "dürfen": _by_person("darf darfst darf dürfen dürfen"),
    "wollen": _by_person("will willst will wollen wollen"),
    "sollen": _by_person("sollte solltest sollte sollten sollten"),
    "möchten": _by_person("möchte möchtest möchte möchten möchten"),
}
PRETERITE: Mapping[str, Mapping[Person, str]] = {
    "sein": _by_person("war warst war waren waren"),
    "haben": _by_person("hatte hattest hatte hatten hatten"),
    "werden": _by_person("wurde wurdest wurde wurden wurden"),
    "wissen": _by_person("wusste wusstest wusste wussten wussten"),
    "mögen": _by_person("mochte mochtest mochte mochten mochten"),
    "können": _by_person("konnte konntest konnte konnten konnten"),
    "müssen": _by_person("musste musstest musste mussten mussten"),
    "dürfen": _by_person("durfte durftest durfte durften durften"),
    "wollen": _by_person("wollte wolltest wollte wollten wollten"),
}
REFLEXIVE = _by_person("mich dich sich uns sich")


def present_forms(infinitive: str, third: str) -> Mapping[Person, str]:
    """The present from the infinitive and the er-form: lesen, liest → lese, liest, liest, …"""
    if infinitive in IRREGULAR_PRESENT:
        return IRREGULAR_PRESENT[infinitive]
    if infinitive.endswith("eln"):
        first = infinitive[:-3] + "le"
    elif infinitive.endswith("ern"):
        first = infinitive[:-1] + "e"
    else:
        first = infinitive[:-1]
    second = third if third[-2] in "sßzx" else third[:-1] + "st"
    return dict(zip(PERSONS, (first, second, third, infinitive, infinitive), strict=True))


def verb(infinitive: str, third: str, participle: str) -> GermanVerb:
    """A verb from dictionary entries: "sich aus|ruhen", "ruht", "ausgeruht" or "ist gegangen"."""
    reflexive = infinitive.startswith("sich ")
    prefix, _, simple = infinitive.removeprefix("sich ").rpartition("|")
    with_sein = participle.startswith("ist ")
    return GermanVerb(
        infinitive=simple,
        prefix=prefix,
        present=present_forms(simple, third),
        preterite=PRETERITE.get(simple),
        participle=participle.removeprefix("ist "),
        auxiliary=IRREGULAR_PRESENT["sein" if with_sein else "haben"],
        reflexive=reflexive,
    )


def zu_infinitive(verb: GermanVerb) -> str:
    """zu kaufen, aufzumachen, Klavier zu spielen."""
    if verb.prefix and not verb.prefix.endswith(" "):
        return f"{verb.prefix}zu{verb.infinitive}"
    return f"{verb.prefix}zu {verb.infinitive}"


_UNITS = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_TENS = [
    "-",
    "-",
    "zwanzig",
    "dreißig",
    "vierzig",
    "fünfzig",
    "sechzig",
    "siebzig",
    "achtzig",
    "neunzig",
]


def number_word(n: int) -> str:
    """0 to 99 in words: 21 is einundzwanzig."""
    if n < 20:
        return _UNITS[n]
    ten, unit = divmod(n, 10)
    if unit == 0:
        return _TENS[ten]
    return f"{'ein' if unit == 1 else _UNITS[unit]}und{_TENS[ten]}"
