"""`transduce translate --ray`: the results of one process, from many, also if some die."""

import json
import os
import subprocess
import sys

import pytest
from models import model_directory, pairs

from transduce.cli.translate import translate_command
from transduce.errors import InputError
from transduce.translate.cluster import ModelChoice, ray_translator

pytest.importorskip("ray", reason="Ray is not installed: pip install 'transduce[ray]'")

# in a process of its own, which Ray's threads and warnings end with
KILLED = """
import json, os, signal, sys, threading
import ray
from transduce.translate.cluster import ModelChoice, ray_translator
from transduce.translate.translator import Translator

model, texts = sys.argv[1], json.loads(sys.argv[2])
messages = []
with ray_translator("local", ModelChoice(model), messages.append) as translator:
    pids = [pid for _, _, pid in ray.get([w.describe.remote() for w in translator.workers])]
    assert len(set(pids)) == len(translator.workers)
    before = translator.results(texts)
    os.kill(pids[0], signal.SIGKILL)
    after = translator.results(texts)
    late = threading.Timer(0.2, os.kill, (pids[-1], signal.SIGKILL))
    late.start()
    during = translator.results(texts * 3)
    late.join()
expected = Translator.load(model).results(texts)
same = [found.translation for found in expected]
for found in (before, after, during[: len(texts)], during[-len(texts):]):
    assert [one.translation for one in found] == same
    assert [one.text for one in found] == texts
assert messages[0] == "a process of the Ray cluster died: a new one translates its lines"
"""


def python(*words):
    env = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, timeout=300, env=env
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = model_directory(tmp_path_factory.mktemp("cluster") / "model", eos=6.0)
    python("-m", "transduce", "translate", "--model", directory, "a dog")  # converts it
    return directory


def test_killed_processes_are_replaced_and_nothing_is_lost(model) -> None:
    texts = [source for source, _ in pairs(150)] + ["", "a\u2028b"]
    python("-c", KILLED, model, json.dumps(texts))


def test_a_file_is_translated_line_by_line_and_in_order(model, tmp_path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    texts = [source for source, _ in pairs(60)]
    source.write_text("\n".join([*texts[:20], "", "a\u2028b\r", *texts[20:]]), "utf-8")
    words = ["-m", "transduce", "translate", "--model", model, "--input", source, "--beam", 1]
    python(*words, "--ray", "--output", output)
    assert output.read_text("utf-8") == python(*words).stdout


def test_an_address_where_nothing_listens_is_an_error_at_once() -> None:
    with (
        pytest.raises(InputError, match=r"there is no Ray cluster at 127\.0\.0\.1:1: "),
        ray_translator("127.0.0.1:1", ModelChoice()),
    ):
        pass


def test_ray_may_stand_without_an_address() -> None:
    for words, address, text in (
        (["--ray", "Yes."], "local", ("Yes.",)),
        (["Yes.", "--ray"], "local", ("Yes.",)),
        (["--ray", "host:6379", "Yes."], "host:6379", ("Yes.",)),
        (["--ray", "auto"], "auto", ()),
        (["Yes."], None, ("Yes.",)),
    ):
        with translate_command.make_context("translate", words) as context:
            assert context.params["ray"] == address
            assert context.params["text"] == text
