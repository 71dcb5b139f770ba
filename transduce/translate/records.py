"""Inputs of translation with their other fields, and output lines, as text or JSON."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from transduce.translate.join import Alternative, Translation
from transduce.translate.lines import join_paragraphs, json_line
from transduce.translate.options import TranslateOptions

Record = dict[str, Any]  # "text", and other fields of a JSON object

DEEPEST = 100  # levels of nesting; a deeper JSON line is translated as text


def with_flag(record: Record, result: Translation) -> Translation:
    """The result, flagged if there was no text."""
    return result if text_of(record) is not None else replace(result, flags=("no-text",))


def output_lines(
    number: int,
    record: Record,
    result: Translation,
    options: TranslateOptions,
    as_json: bool,
) -> list[str]:
    """The output lines of one input."""
    if as_json:
        entry = {**record, "translation": result.translation, "score": result.score}
        entry |= {"tokens": list(result.tokens), "flags": list(result.flags)}
        entry["token_scores"] = list(result.token_scores)
        if options.search.n_best > 1:
            entry["alternatives"] = [_entry(alternative) for alternative in result.alternatives]
        if options.alignments:
            entry["alignment"] = result.alignment
        return [json_line(entry)]
    if options.search.n_best == 1:
        return [result.translation]
    ranked = result.alternatives or (result,)
    return [f"{number} ||| {one.translation} ||| {one.score:.4f}" for one in ranked]


def _entry(alternative: Alternative) -> dict[str, Any]:
    return {
        "translation": alternative.translation,
        "score": alternative.score,
        "tokens": list(alternative.tokens),
    }


def read_records(lines: Iterable[str], as_json: bool, paragraphs: bool) -> Iterator[Record]:
    """The fields of each input: its text, and those of a JSON object."""
    if not paragraphs:
        return (_record(line, as_json) for line in lines)
    return ({"text": text, "lines": [first, last]} for text, first, last in join_paragraphs(lines))


def _record(line: str, as_json: bool) -> Record:
    """The fields of a JSON object, or the line as "text"."""
    if as_json and line.lstrip().startswith("{"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict) and _flat(fields):
            return fields
    return {"text": line}


def text_of(record: Record) -> str | None:
    """The text of a record, if it has one."""
    text = record.get("text")
    return text if isinstance(text, str) else None


def _flat(value: object) -> bool:
    """Whether a JSON value is not nested too deeply to be written again."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return not level
