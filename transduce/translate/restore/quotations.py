"""Direct speech: what is between quotation marks is translated as sentences of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.join import Found
from transduce.translate.restore.second import SecondSearch
from transduce.translate.splitting import sentences

# What stands for a quotation in the sentence around it, and its translation.
GREETINGS = {
    ("en", "de"): (("Good morning", "Guten Morgen"), ("I am hungry", "Ich habe Hunger")),
    ("de", "en"): (("Ich weiß", "I know"), ("Guten Morgen", "Good morning")),
}
SURER = 0.1  # nats per token, of the parts than of the whole; docs/log.md says what this gives
MARKS = {"en": ('"', '"'), "de": ("„", "“")}

_OPEN, _CLOSE, _FINAL = '"“„»«', '"”“«»', ".!?…"
_INSIDE = rf"[^{_OPEN}{_CLOSE}]+"
# sentences, not a word or a title: first in the text, after a comma or a colon, or with a mark
_QUOTATION = regex.compile(
    rf"(?:^|(?<=[,:] ))[{_OPEN}](?P<said>\p{{L}}{_INSIDE})[{_CLOSE}]"
    rf"|[{_OPEN}](?P<said>\p{{L}}{_INSIDE}[!?…]|\p{{L}}(?:{_INSIDE})? {_INSIDE}[,.])[{_CLOSE}]"
)
_ONLY = regex.compile(
    rf"(?P<open>[{_OPEN}])(?P<said>{_INSIDE})(?P<close>[{_CLOSE}]?)"
    rf"|(?P<said>{_INSIDE}[{_FINAL}])(?P<close>[{_CLOSE}])"
)
# the end of what is said, of which another sentence has the beginning
_END = regex.compile(rf"(?P<said>{_INSIDE}[,{_FINAL}])[{_CLOSE}](?= \p{{Ll}}{_INSIDE}$)")


@dataclass(frozen=True)
class Speech:
    """A sentence with direct speech."""

    frame: str  # with greetings in place of what is said; "": everything is said
    said: tuple[str, ...]
    begins: bool = True  # with a quotation mark, if everything is said or the end of it
    ends: bool = True  # likewise

    def filled(self, output: str, said: Sequence[str], languages: tuple[str, str]) -> str | None:
        """The translation of the frame with those of what is said; None if one has no place.

        >>> speech = speech_of('"Come in," she said.', ("en", "de"))
        >>> speech.frame, speech.said
        ('"Good morning," she said.', ('Come in.',))
        >>> speech.filled('"Guten Morgen", sagte sie.', ["Komm herein!"], ("en", "de"))
        '„Komm herein!“, sagte sie.'
        """
        open_, close = MARKS[languages[1]]
        if not self.frame:
            return f"{open_ if self.begins else ''}{said[0]}{close if self.ends else ''}"
        for (_, greeting), words in zip(GREETINGS[languages], said, strict=False):
            place = regex.compile(
                rf"[{_OPEN}]{greeting}(?P<mark>[,{_FINAL}]?)[{_CLOSE}](?P<end>\.$|,?(?= \p{{Ll}}))?"
            )
            found = list(place.finditer(output))
            if len(found) != 1:
                return None
            written = _written(found[0], words, languages[1])
            output = output[: found[0].start()] + written + output[found[0].end() :]
        return output if self.begins else output.removeprefix(open_)


def speech_of(text: str, languages: tuple[str, str]) -> Speech | None:
    """The direct speech of a sentence; None if it has none, or too much.

    >>> speech_of('"Where are you?"', ("en", "de"))
    Speech(frame='', said=('Where are you?',), begins=True, ends=True)
    """
    only = _ONLY.fullmatch(text)
    if only:
        said = only["said"].strip()
        return Speech("", (said,), bool(only["open"]), bool(only["close"])) if said else None
    end = _END.match(text)
    found = [end] if end else list(_QUOTATION.finditer(text))
    greetings = GREETINGS[languages][: len(found)]
    if not found or len(found) > len(greetings) or any(own in text for own, _ in greetings):
        return None
    open_, close = MARKS[languages[0]]
    frame = text
    for match, (greeting, _) in reversed(list(zip(found, greetings, strict=True))):
        mark = match["said"][-1] if match["said"][-1] in f",{_FINAL}" else ""
        quoted = f"{open_}{greeting}{mark}{close}"
        frame = frame[: match.start()] + quoted + frame[match.end() :]
    said = [match["said"].rstrip(", ") for match in found]
    return Speech(frame, tuple(map(_sentence, said)), begins=not end)


def keep_quotations(second: SecondSearch) -> None:
    """Translates direct speech apart from the sentence around it, between English and German.

    Models see little of it: "Come in," she said. becomes „Come in“, sagte sie. The parts are taken
    if the model is surer of them than of the whole.
    """
    languages = second.traits.source_language or "", second.traits.target_language or ""
    if languages not in GREETINGS:
        return
    speeches = {unit: speech_of(unit.text, languages) for unit in second.found}
    waiting = [
        (unit, speech, [sentences(said) for said in speech.said])
        for unit, speech in speeches.items()
        if speech
    ]
    texts = [speech.frame for _, speech, _ in waiting if speech.frame]
    texts += [piece.text for *_, said in waiting for pieces in said for piece in pieces]
    results = second.translations(texts)
    for unit, speech, said in waiting:
        parts = [results[piece.text] for pieces in said for piece in pieces]
        frame = [results[speech.frame]] if speech.frame else []
        surer = _mean_log_prob([*parts, *frame]) - _mean_log_prob([second.found[unit]])
        if surer < SURER or any(result.flags for result in (*parts, *frame)):
            continue
        words = [
            "".join(results[piece.text].texts[0].strip() + piece.after for piece in pieces)
            for pieces in said
        ]
        text = speech.filled(frame[0].texts[0] if frame else "", words, languages)
        second.replace(unit, text, "split")


def _mean_log_prob(results: Sequence[Found]) -> float:
    """Of the tokens of the best translations."""
    best = [result.hypotheses[0] for result in results]
    return sum(h.log_prob for h in best) / sum(len(h.tokens) + 1 for h in best)


def _sentence(said: str) -> str:
    """What is said with a capital at the beginning and a mark at the end."""
    return said[0].upper() + said[1:] + ("" if said[-1] in _FINAL else ".")


def _written(match: regex.Match[str], words: str, language: str) -> str:
    """What is said, with the marks of the greeting in its place."""
    plain, end = words.removesuffix("."), match["end"] or ""
    last, final = match.end() == len(match.string), plain[-1:] in _FINAL
    inside = words if match["mark"] and last else plain
    if language == "de" and match.start() == 0 and not last:  # „Komm herein“, sagte sie
        end = ","
    elif not final and (match["mark"] == "," or (match.start() == 0 and not last)):
        inside += ","  # "Come in," she said
    elif final and end == ".":
        end = ""
    open_, close = MARKS[language]
    return f"{open_}{inside}{close}{end}"
