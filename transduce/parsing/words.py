"""Splitting raw text into words as the Penn Treebank does."""

import re

# Prefixes that stay with their word where a treebank splits hyphens.
_AFFIXES = "anti|co|de|ex|inter|intra|mid|multi|non|over|post|pre|re|semi|sub|trans|un"

_RULES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'(?<![^\s(\[{<–—-])"', " `` "),
        (r'"', " '' "),
        (r"\.\.+|…", r" \g<0> "),
        (r"--+|—", r" \g<0> "),
        (r"[()\[\]{}<>“”;!?]", r" \g<0> "),
        (r"[,:](?!\d)|(?<!\d)[,:]", r" \g<0> "),
        (r"(?<=[$£€#])(?=\d)|(?<=\d)(?=[%°])", " "),
        # a full stop ends the text, unless it belongs to U.S. or e.g.
        (r"(?<![.\s])(?<!\b\w\.\w)\.(?=[\s'’”)\]}]*$)", " . "),
        (r"(?i)(?<=\w)(n['’]t)\b", r" \1"),
        (r"(?i)(?<=\w)(['’](?:s|m|d|ll|re|ve))\b", r" \1"),
        (r"(?<!\w)['‘](?=\w)(?!(?:s|m|d|ll|re|ve|em|t)\b)", "` "),
        (r"(?<=[\w.])['’](?!\w)", r" \g<0>"),
        (r"(?i)\b(can)(not)\b", r"\1 \2"),
        (r"(?i)\b(gon|wan|got)([nt]a)\b", r"\1 \2"),
    )
]
_HYPHENS = re.compile(r"(?<=\w)[-–/](?=\w)|[/=±×~+]")
_AFFIX = re.compile(rf"(?i)(?<!\w)({_AFFIXES}) ([-–]) (?=\w)")
_ADDRESS = re.compile(r"\w+://|www\.|[\w.]+@\w")


def split_words(text: str, hyphens: bool = False) -> list[str]:
    """The words of a sentence; `hyphens`: compounds are split, as newer treebanks do.

    >>> split_words('He said: "They cannot pay $5.50 (or 3%) to Mr. O\\'Hara\\'s son."')[:9]
    ['He', 'said', ':', '``', 'They', 'can', 'not', 'pay', '$']
    >>> split_words("wild-type and anti-mouse", hyphens=True)
    ['wild', '-', 'type', 'and', 'anti-mouse']
    """
    addresses: list[str] = []

    def hide(word: str) -> str:
        if not _ADDRESS.match(word):
            return word
        kept = re.match(r"\S*[\w/]", word)
        assert kept
        addresses.append(kept[0])
        return f"\x00{word[kept.end() :]}"

    text = " ".join(map(hide, text.replace("\x00", " ").split()))
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    if hyphens:
        text = _AFFIX.sub(r"\1\2", _HYPHENS.sub(r" \g<0> ", text))
    following = iter(addresses)
    return [re.sub("\x00", lambda _: next(following), word) for word in text.split()]
