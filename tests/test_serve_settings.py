"""Settings of the server: flags, environment variables, a TOML section; and its API keys."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.errors import ConfigError
from transduce.log import silent
from transduce.serve.engine import ModelInfo
from transduce.serve.keys import KeyFile, add_key, read_keys, revoke_key
from transduce.serve.languages import find_code, name_of
from transduce.serve.models import Models
from transduce.serve.server import bind
from transduce.serve.settings import ServeConfig, read_settings


def test_flags_override_the_environment_which_overrides_the_file(tmp_path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(
        '[serve]\nport = 1\ndeadline = 5\nchar_limit = 7\nmodels = ["en-de"]\n', "utf-8"
    )
    environment = {"TRANSDUCE_SERVE_PORT": "2", "TRANSDUCE_SERVE_DEADLINE": "4.5"}
    config = read_settings(file, {"port": 3}, environment)
    assert (config.port, config.deadline, config.char_limit) == (3, 4.5, 7)
    assert config.models == ["en-de"]
    config = read_settings(
        None, {}, {"TRANSDUCE_SERVE_CORS": "https://a.example,https://b.example"}
    )
    assert config.cors == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--set", "serve.char_limits=5"],
            "unknown setting serve.char_limits; did you mean char_limit?",
        ),
        (
            ["--set", "train.steps=5"],
            "cannot read the setting 'train.steps=5': write serve.key=value",
        ),
        (["--rate-limit", "often"], "'often' is not a rate limit: write, for example, 60/minute"),
        (["--deadline", "-1"], "serve.deadline = -1.0 must be greater than 0"),
        (["--config", "none.toml"], "no settings file none.toml"),
        (["keys", "revoke", "abc"], "there is no key abc: `transduce serve keys list` has all"),
        (["--host", "256.0.0.1"], "cannot listen on 256.0.0.1 port 5000"),
    ],
)
def test_mistakes_are_told_in_a_sentence(words, sentence, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = CliRunner().invoke(main, ["serve", *words])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"transduce: {sentence}")
    assert done.stderr.count("\n") == 1


def test_a_revoked_key_is_not_found_by_a_running_server(tmp_path) -> None:
    file = tmp_path / "keys.json"
    keys = KeyFile(file)
    assert keys.find("x") is None
    (anna, secret), (_, other) = add_key(file, "anna"), add_key(file, "bert")
    assert keys.find(secret) == anna
    revoke_key(file, anna.id)
    assert keys.find(secret) is None
    assert keys.find(other) is not None
    assert [key.name for key in read_keys(file)] == ["bert"]


def test_a_damaged_file_of_keys_is_an_error(tmp_path) -> None:
    (tmp_path / "keys.json").write_text("[]", "utf-8")
    with pytest.raises(ConfigError, match="does not hold API keys"):
        read_keys(tmp_path / "keys.json")


def test_former_codes_are_understood_in_both_directions() -> None:
    assert find_code("zh-Hans", ["zh"]) == "zh"
    assert find_code("ZH", ["zh-Hans"]) == "zh-Hans"
    assert name_of("pt-BR") == "Portuguese"
    assert name_of("xx") == "xx"


def test_help_is_quick_and_does_not_load_the_server() -> None:
    code = (
        "import sys; from transduce.cli import main\n"
        "try: main(['serve', '--help'])\n"
        "except SystemExit: assert not {'starlette', 'uvicorn', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ)


def test_answers_are_not_held_back_until_the_client_has_acknowledged_their_first_part() -> None:
    """Without TCP_NODELAY each answer took 44 ms more."""
    with bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_directions_are_in_the_order_of_the_models_whichever_is_loaded_first(monkeypatch) -> None:
    pairs = [("en", "de"), ("de", "en"), ("en", "fr")]

    async def load() -> list[tuple[str, str]]:
        models = Models(ServeConfig(models=["one", "two", "three"]), silent)
        for model in models.all:
            monkeypatch.setattr(model.engine, "start", lambda: None)
        loading = models.start(lambda: None)
        for number in (2, 0, 1):
            engine = models.all[number].engine
            engine.info = ModelInfo("name", "translation", *pairs[number])
            engine.settled.set()
            await loading[number]
        return list(models.by_pair)

    assert asyncio.run(load()) == pairs
