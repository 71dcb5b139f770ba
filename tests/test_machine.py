"""What the machine is and can do."""

import subprocess
import sys

import pytest

from transduce import machine

INTEL = """processor\t: 0
model name\t: Some CPU @ 2.00GHz
flags\t\t: fpu sse4_2 avx avx2 avx512f avx512_vnni
bugs\t\t: none

processor\t: 1
model name\t: Some CPU @ 2.00GHz
flags\t\t: fpu
"""
ARM = "processor\t: 0\nFeatures\t: fp asimd asimddp\n"


@pytest.mark.parametrize(
    ("text", "features"),
    [(INTEL, "fpu sse4_2 avx avx2 avx512f avx512_vnni"), (ARM, "fp asimd asimddp"), ("", "")],
)
def test_the_features_are_those_of_the_first_processor(
    monkeypatch, tmp_path, text, features
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(text, "utf-8")
    monkeypatch.setattr(machine, "CPUINFO", file)
    assert machine.cpu_features() == frozenset(features.split())


def test_the_features_of_a_mac_have_linuxs_names(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", "darwin")
    answer = subprocess.CompletedProcess([], 0, "FPU AVX1.0\nAVX2 AVX512VNNI\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: answer)
    assert machine.cpu_features() == {"fpu", "avx", "avx2", "avx512_vnni"}


def test_the_model_name_is_the_systems(monkeypatch, tmp_path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(INTEL, "utf-8")
    monkeypatch.setattr(machine, "CPUINFO", file)
    assert machine.cpu() == "Some CPU @ 2.00GHz"


def test_a_library_that_is_not_installed_has_no_version() -> None:
    facts = machine.description(["numpy", "no-such-library"])
    assert facts.keys() == {"cpu", "cores", "python", "numpy"}
    assert facts["cores"] == machine.cores()
