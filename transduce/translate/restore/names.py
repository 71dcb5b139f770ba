"""Finds names in a source: words with a capital, in German those that stand where names do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType
from unicodedata import normalize

import regex  # type: ignore[import-untyped]

_WORD = r"\p{Lu}(?:['’]\p{Lu})?[\p{L}\p{M}]*(?:-\p{L}+)*"
_NAME = regex.compile(rf"(?<=[\p{{Ll}}\d,;:] |(?:Mr|Mrs|Ms|Dr|St)\. ){_WORD}(?: {_WORD})*")
# English adjectives with a capital, as in "the Greek embassy", which other languages write without
NATIONAL = regex.compile(r"(?:[aei]an|ish|ese|ch|eek|iss|ew|ic|i)$")
_ARTICLE = regex.compile(r"(?i)\b(?:the|an?) $")
_NOT_NAMES = frozenset({"I", "Mr", "Mrs", "Ms", "Miss", "Dr", "Sir", "God", "TV", "OK"})

CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages in which a capital does not mark a name

# What stands before a name in German, where every noun has a capital: "Herr Petrow", "mein Bruder
# Oskar", "ich heiße Svenja"; and what mostly does: "nach Chemnitz" after "fahren".
_TITLES = (
    r"Herrn?|Frau|Fräulein|Doktor|Dr\.|Prof\.|Professor(?:in)?|Onkel|Tante|Opa|Oma|Familie"
    r"|König(?:in)?|Kaiser|Präsident(?:in)?|Inspektor|Kommissar(?:in)?|Pfarrer"
)
_RELATIONS = (
    r"Bruder|Schwester|Mutter|Vater|Sohn|Tochter|Freund(?:in)?|Kolleg(?:en?|in)|Nachbar(?:n|in)?"
    r"|Cousine?|Neffe|Nichte|Chef(?:in)?|Lehrer(?:in)?|Mann|Frau"
)
_POSSESSIVE = r"(?i:mein|dein|sein|ihr|unser|euer|eur)\p{Ll}*"
_ARTICLES = r"(?i:d(?:er|ie|en|em)|(?:k?ein|jed|dies)e?[rnm]?|zu[rm]|(?:jung|alt|schön)e[nr]?)"
_SURE = regex.compile(
    rf"(?<=\b(?:(?<!\b{_ARTICLES} )(?:{_TITLES})|{_POSSESSIVE} (?:\p{{Ll}}+ )?(?:{_RELATIONS})"
    rf"|[Nn]ame ist|[Nn]amens|(?<!\b[Dd]as )(?:heiß(?:e|t)|hieß)) ){_WORD}(?: {_WORD})*"
)
_PLACES = (  # a verb or noun, and what stands between it and a name
    (r"wohn|leb|arbeite|studier|gebor|aufgewachs|Ankunft|gelandet|Urlaub", r"[Ii]n"),
    (
        r"f[aäu]hr|fl[io]e?g|geflogen|reis|Reise|z[io]e?h|zog|ging|gegangen|Zug|Bus|Flug|Weg",
        r"[Nn]ach",
    ),
    (r"komm|kam|stamm", r"[Aa]us"),
    (r"[Kk]enn", r"[Kk]enn(?:e|st|t|en)(?: du| ihr| Sie)?"),
    (r"\b(?:nach|bis) \p{Lu}", r"[Vv]on"),
)
_PERHAPS = [
    (regex.compile(verbs), regex.compile(rf"(?<=\b{before} ){_WORD}(?: {_WORD})*"))
    for verbs, before in _PLACES
]
_GERMAN_TITLES = frozenset(
    {"Herr", "Herrn", "Frau", "Fräulein", "Doktor", "Dr", "Professor", "Prof", "Onkel", "Tante"}
)
_NOUN = regex.compile(r"(?:heit|keit|ung|schaft|tät|nis|ion|erei|erin)s?$")


@dataclass(frozen=True)
class Name:
    """A name in a source; if not `sure`, it may also be another noun."""

    text: str
    start: int
    sure: bool = True

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def lost(self, output: str, forms: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """Its words that the output does not have, an ending aside, in either of their `forms`."""
        words = _plain(output)
        return [
            word
            for word in self.text.split()
            if not any(
                regex.search(rf"\b{regex.escape(_plain(form))}", words)
                for form in (word, forms.get(word, word))
            )
        ]


def names(text: str) -> list[Name]:
    """The words with a capital inside a sentence, adjacent ones together.

    >>> [name.text for name in names("Yesterday Dr Patel and I met Ann O'Hara in Leeds.")]
    ['Patel', "Ann O'Hara", 'Leeds']
    >>> names("I know the Bulgarian ambassador.")  # an adjective
    []
    """
    found = []
    for match in _NAME.finditer(text):
        name = _without(_NOT_NAMES, match)
        if (
            len(name.text) > 1
            and not _NOT_NAMES & {*name.text.split()}
            and not _adjective(name, text)
        ):
            found.append(name)
    return found


def german_names(text: str) -> list[Name]:
    """The words that are names, or may be, by what stands before them.

    >>> [(name.text, name.sure) for name in german_names("Herr Petrow wohnt seit Mai in Chemnitz.")]
    [('Petrow', True), ('Chemnitz', False)]
    >>> german_names("Eine Frau Mitte vierzig isst Suppe.")
    []
    """
    patterns = [(pattern, False) for verbs, pattern in _PERHAPS if verbs.search(text)]
    found = {}
    for pattern, sure in (*patterns, (_SURE, True)):
        for match in pattern.finditer(text):
            name = _without(_GERMAN_TITLES, match, sure)
            if len(name.text) > 1 and not _NOUN.search(name.text):
                found[name.start] = name
    return [found[start] for start in sorted(found)]


def finder(language: str | None) -> Callable[[str], Sequence[Name]]:
    """The function that finds the names in a text of this language.

    It finds none if the language is not known, or writes nouns with a capital: all but German.
    """
    if language == "de":
        return german_names
    return names if language not in {None, *CAPITAL_NOUNS} else lambda _: []


def similarity(name: str, word: str) -> float:
    """The share of letters that both have in the same order."""
    return SequenceMatcher(None, name.casefold(), word.casefold()).ratio()


def _plain(text: str) -> str:
    """Lower case, without marks: of Tōkyō, tokyo."""
    return regex.sub(r"\p{M}", "", normalize("NFD", text.casefold()))


def _without(titles: frozenset[str], match: "regex.Match[str]", sure: bool = True) -> Name:
    """What was matched, without the titles that it begins with."""
    start, words = match.start(), match[0].split(" ")
    while words and words[0] in titles:
        start += len(words.pop(0)) + 1
    return Name(" ".join(words), start, sure)


def _adjective(name: Name, text: str) -> bool:
    """Whether it is the adjective of a nation, between an article and a noun."""
    return bool(
        NATIONAL.search(name.text)
        and _ARTICLE.search(text[: name.start])
        and regex.match(r" \p{Ll}", text[name.end :])
    )
