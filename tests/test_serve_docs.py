"""README's curl commands work, and docs/serving.md has every setting and route."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from serving import running

from transduce.serve.openapi import description
from transduce.serve.settings import ServeConfig

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "serving.md").read_text("utf-8")
COMMANDS = re.findall(r"^curl .+$", README, re.M)


def settings_table() -> str:
    rows = [
        f"| `{name}` | `{json.dumps(field.default)}` | {field.description} |"
        for name, field in ServeConfig.model_fields.items()
    ]
    return "\n".join(["| setting | default | |", "| --- | --- | --- |", *rows])


def test_the_page_lists_every_setting_with_its_default() -> None:
    (written,) = re.findall(r"<!-- settings -->\n\n(.+?)\n\n<!-- /settings -->", PAGE, re.S)
    assert written == settings_table()


def test_the_page_and_the_description_have_the_same_routes() -> None:
    listed = set(re.findall(r"^\| `(?:GET|POST) (/.+?)`", PAGE, re.M))
    assert listed == description()["paths"].keys()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_commands_of_the_readme_work(tmp_path) -> None:
    assert len(COMMANDS) >= 6
    with running(tmp_path, "--deadline", "60") as server:
        for command in COMMANDS:
            words = shlex.split(command.replace("http://127.0.0.1:5000", server.url))
            done = subprocess.run(
                [*words, "-sS", "--fail-with-body"], capture_output=True, check=False
            )
            assert done.returncode == 0, f"{command}: {done.stdout!r} {done.stderr!r}"
            assert json.loads(done.stdout)
