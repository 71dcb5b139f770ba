"""Language codes and names, as clients of LibreTranslate write them."""

from collections.abc import Iterable

# Codes, English names and German names.
NAMES = """
ar Arabic Arabisch|az Azerbaijani Aserbaidschanisch|be Belarusian Belarussisch|bg Bulgarian
Bulgarisch|bn Bengali Bengalisch|ca Catalan Katalanisch|cs Czech Tschechisch|cy Welsh Walisisch|da
Danish Dänisch|de German Deutsch|el Greek Griechisch|en English Englisch|eo Esperanto Esperanto|es
Spanish Spanisch|et Estonian Estnisch|eu Basque Baskisch|fa Persian Persisch|fi Finnish Finnisch|fr
French Französisch|ga Irish Irisch|gl Galician Galicisch|he Hebrew Hebräisch|hi Hindi Hindi|hr
Croatian Kroatisch|hu Hungarian Ungarisch|hy Armenian Armenisch|id Indonesian Indonesisch|is
Icelandic Isländisch|it Italian Italienisch|ja Japanese Japanisch|ka Georgian Georgisch|ko Korean
Koreanisch|la Latin Latein|lt Lithuanian Litauisch|lv Latvian Lettisch|mk Macedonian Mazedonisch|ms
Malay Malaiisch|mt Maltese Maltesisch|nb Norwegian Norwegisch|nl Dutch Niederländisch|no Norwegian
Norwegisch|pl Polish Polnisch|pt Portuguese Portugiesisch|ro Romanian Rumänisch|ru Russian
Russisch|sk Slovak Slowakisch|sl Slovenian Slowenisch|sq Albanian Albanisch|sr Serbian Serbisch|sv
Swedish Schwedisch|sw Swahili Suaheli|th Thai Thailändisch|tl Tagalog Tagalog|tr Turkish
Türkisch|uk Ukrainian Ukrainisch|ur Urdu Urdu|vi Vietnamese Vietnamesisch|zh Chinese Chinesisch
"""
ENGLISH, GERMAN = (
    {row.split()[0]: row.split()[column] for row in NAMES.split("|")} for column in (1, 2)
)
ALIASES = {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}  # LibreTranslate's former codes


def find_code(written: str, known: Iterable[str]) -> str | None:
    """The known code that a client means: any case, and LibreTranslate's former codes.

    >>> find_code("EN", ["de", "en"]), find_code("pb", ["pt-BR"]), find_code("zz", ["en"])
    ('en', 'pt-BR', None)
    """
    codes = {code.lower(): code for code in known}
    lower = written.lower()
    former = {new.lower(): old for old, new in ALIASES.items()}
    for one in (lower, ALIASES.get(lower, "").lower(), former.get(lower, "")):
        if one in codes:
            return codes[one]
    return None


def name_of(code: str, accepted: str = "") -> str:
    """The name of a language, in German for who prefers it by Accept-Language, or in English."""
    names = GERMAN if preferred(accepted) == "de" else ENGLISH
    return names.get(code) or names.get(code.partition("-")[0]) or code


def preferred(accepted: str) -> str:
    """The preferred language of an Accept-Language header for which there are names.

    >>> preferred("fr;q=0.9, de-AT;q=0.8, en;q=0.1"), preferred("")
    ('de', 'en')
    """
    best, most = "en", 0.0
    for item in accepted.split(","):
        tag, _, weight = item.strip().partition(";q=")
        code = tag.partition("-")[0].lower()
        try:
            quality = float(weight) if weight else 1.0
        except ValueError:
            continue
        if code in ("de", "en") and quality > most:
            best, most = code, quality
    return best
