"""Moses tokenisation, for the tokenised BLEU of published papers.

The paper and its contemporaries replace Unicode punctuation, tokenise as Moses does, and split
hyphenated compounds. Papers on Multi30k use its lowercased, normalised and tokenised files.
"""

import re
from functools import cache
from importlib.metadata import version
from pathlib import PurePath

from sacremoses import MosesPunctNormalizer, MosesTokenizer
from sacremoses.corpus import NonbreakingPrefixes

from transduce.errors import InputError

DEFAULT_LANGUAGE = "en"

_COMPOUND = re.compile(r"(\S)-(\S)")


def paper_tokens(line: str, language: str = DEFAULT_LANGUAGE) -> str:
    """The tokens of a line, separated by spaces.

    >>> paper_tokens("Ein E-Book, bitte.", "de")
    'Ein E ##AT##-##AT## Book , bitte .'
    """
    plain = _normaliser(language).replace_unicode_punct(line)
    tokens: str = _tokeniser(language).tokenize(plain, return_str=True)
    return _COMPOUND.sub(r"\1 ##AT##-##AT## \2", tokens)


def lowercase_tokens(line: str, language: str = DEFAULT_LANGUAGE) -> str:
    """The same as in Multi30k's files *.lc.norm.tok: compounds are not split.

    >>> lowercase_tokens("Ein E-Book, bitte.", "de")
    'ein e-book , bitte .'
    """
    plain = _normaliser(language).normalize(line.lower())
    tokens: str = _tokeniser(language).tokenize(plain, return_str=True)
    return tokens


def tokens_signature(language: str, form: str) -> str:
    return f"sacremoses-{version('sacremoses')}-{language}-{form}"


def language_of(file: str) -> str:
    """The language code in a name such as test.de.gz, or English, Moses' own default."""
    suffixes = [suffix for suffix in PurePath(file).suffixes if suffix not in (".gz", ".xz")]
    code = suffixes[-1].removeprefix(".") if suffixes else ""
    return code if code in languages() else DEFAULT_LANGUAGE


def check_language(code: str) -> None:
    if code not in languages():
        raise InputError(
            f"the Moses tokenizer does not support the language {code}: give one of "
            f"{', '.join(sorted(languages()))}"
        )


@cache
def languages() -> frozenset[str]:
    """The codes of the languages that Moses supports."""
    return frozenset(NonbreakingPrefixes().available_langs.values())


@cache
def _tokeniser(language: str) -> MosesTokenizer:
    return MosesTokenizer(language)


@cache
def _normaliser(language: str) -> MosesPunctNormalizer:
    return MosesPunctNormalizer(language)
