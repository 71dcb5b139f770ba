"""The description of the machine."""

from transduce import machine

INTEL = """processor\t: 0
model name\t: Some CPU @ 2.00GHz
flags\t\t: fpu sse4_2 avx avx2 avx512f avx512_vnni
bugs\t\t: none

processor\t: 1
model name\t: Some CPU @ 2.00GHz
flags\t\t: fpu
"""


def test_the_model_name_is_the_systems(monkeypatch, tmp_path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(INTEL, "utf-8")
    monkeypatch.setattr(machine, "CPUINFO", file)
    assert machine.cpu() == "Some CPU @ 2.00GHz"


def test_a_library_that_is_not_installed_has_no_version() -> None:
    facts = machine.description(["numpy", "no-such-library"])
    assert facts.keys() == {"cpu", "cores", "python", "numpy"}
    assert facts["cores"] == machine.cores()
