# Every target does its own set-up. PYTHON may name another interpreter (3.11 or newer).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
export PYTHONUTF8 = 1

.PHONY: demo test check results clean

demo: .venv/installed
	.venv/bin/transduce paper params
	.venv/bin/transduce explain "The cat sat on the mat because it was tired" --from it --seed 0
	@mkdir -p demo-output
	.venv/bin/transduce paper figure1 --output demo-output/figure1.svg
	.venv/bin/transduce train demo-output/run
	.venv/bin/transduce info demo-output/run
	@cut -f 1 demo-output/run/text/test.tsv > demo-output/test.en
	@cut -f 2 demo-output/run/text/test.tsv > demo-output/test.de
	.venv/bin/transduce evaluate demo-output/test.en demo-output/test.de --model demo-output/run/model
	head -n 5 demo-output/test.en | .venv/bin/transduce translate --model demo-output/run/model

test: .venv/developing
	.venv/bin/python -m pytest

check: .venv/developing
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m pytest --quiet tests/test_imports.py

results: .venv/installed
	.venv/bin/python -m transduce.evaluate.results results README.md

clean:
	rm -rf .venv build *.egg-info

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

.venv/developing: .venv/installed
	$(PIP) --editable '.[dev]'
	@touch $@
