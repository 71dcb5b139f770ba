"""Dockerfile and compose file: what can be checked without Docker."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_the_image_runs_the_service_without_rights() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.search(r"^USER 10001$", text, re.M)
    assert text.index("USER 10001") > text.index("RUN useradd")
    assert re.search(r'^CMD \["serve", "--host", "0.0.0.0"\]$', text, re.M)
    for source in re.findall(r"/source/(\S+?)\b", text):
        assert list(ROOT.glob(f"{source}*")), source


def test_the_compose_file_publishes_the_service_on_this_machine_only() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["transduce"]
    assert service["ports"] == ["127.0.0.1:5000:5000"]
    assert service["read_only"] is True
    assert service["command"] == ["serve", "--host", "0.0.0.0"]
    assert "./models:/models:ro" in service["volumes"]
