"""The code in the README.md of an export."""

import contextlib
import re

from transduce.exchange.note import TEXT


def code_of(note) -> str:
    (code,) = re.findall(r"```python\n(.+?)```", note, re.S)
    assert code.count("\n") == 5
    return code


def run_note(out, capsys, text=TEXT) -> str:
    """What the code of an export's README.md prints, run in the export's directory."""
    code = code_of((out / "README.md").read_text("utf-8"))
    assert TEXT in code or "ids" in code
    capsys.readouterr()
    with contextlib.chdir(out):
        exec(code.replace(TEXT, text), {})
    return capsys.readouterr().out
