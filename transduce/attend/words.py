"""The few words of a language that the measures of heads look for."""

import re

PRONOUNS = {
    "en": """he she it they him her them his hers its their theirs himself herself itself
        themselves""",
    "de": """er sie es ihm ihn ihnen ihr sein seine seinem seinen seiner seines ihre ihrem ihren
        ihrer ihres sich""",
}
FUNCTION_WORDS = {
    "en": """a an the this that these those i you we my your our me us and or but if because
        although when while that who which whose what where how why not no of to in on at by for
        with from about as than into since do does did has have had is are was were be been being
        will would can could should must may might there here just yet already very too so""",
    "de": """ein eine einem einen einer der die das den dem des dieser diese dieses ich du wir mein
        dein unser mich dich uns mir dir und oder aber wenn weil obwohl als während dass wer was wo
        wie warum nicht kein keine von zu in im an am auf bei für mit aus über durch seit hat haben
        hatte ist sind war waren sein wird werden wurde kann konnte soll muss darf da hier noch
        schon sehr so""",
}
CONJUNCTIONS = {
    "en": "and or but if because although when while that who which whose where since",
    "de": "und oder aber wenn weil obwohl als während dass der die das wo denn",
}


def is_mark(word: str) -> bool:
    """Whether a word is punctuation."""
    return not re.search(r"\w", word)


def listed(words: dict[str, str], language: str) -> frozenset[str]:
    """The words of a list in a language; empty if there is none."""
    return frozenset(words.get(language, "").split())
