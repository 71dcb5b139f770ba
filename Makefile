# Every target first creates the virtual environment. PYTHON may name another interpreter (3.11 or newer).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
export PYTHONUTF8 = 1

# what `make demo` shows of the bundled model
SENTENCES = "Where is the nearest station?" "I would like a cup of coffee, please." \
  "My sister has been learning German for three years." "If it rains tomorrow, we will stay at home."
SAETZE = "Wo ist der nächste Bahnhof?" "Ich hätte gern eine Tasse Kaffee." \
  "Meine Schwester lernt seit drei Jahren Deutsch." "Wenn es morgen regnet, bleiben wir zu Hause."
LOOK = "Where is the nearest station?" --kind cross --from nächste

.PHONY: demo test test-avx2 check results docs clean

demo: .venv/installed
	@mkdir -p demo-output
	@echo; echo "1. The bundled model translates English into German, offline:"; echo
	.venv/bin/transduce translate $(SENTENCES)
	@echo; echo "   and German into English:"; echo
	.venv/bin/transduce translate --to en $(SAETZE)
	@echo; echo '2. The attention weights of one head when the decoder has written "Wo ist der nächste":'; echo
	.venv/bin/transduce explain $(LOOK) > demo-output/explain.txt
	@sed -n '/^10\. /,$$p' demo-output/explain.txt
	@echo; echo "3. Training a model on the built-in corpus in about three minutes:"; echo
	.venv/bin/transduce train demo-output/run
	@cut -f 1 demo-output/run/text/test.tsv > demo-output/test.en
	@cut -f 2 demo-output/run/text/test.tsv > demo-output/test.de
	@echo; echo "4. The share of 1,000 unseen sentences that it translates exactly:"; echo
	.venv/bin/transduce evaluate demo-output/test.en demo-output/test.de --model demo-output/run/model
	head -n 5 demo-output/test.en | .venv/bin/transduce translate --model demo-output/run/model
	@echo; cat docs/next.txt

# two files of tests at a time
test: .venv/developing
	@sh tests/browser.sh
	.venv/bin/python -m pytest -n 2 --dist loadfile

# The engines as on a CPU without AVX-512 and VNNI, where int8 products are computed otherwise.
AVX2 = CT2_FORCE_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
  ONEDNN_MAX_CPU_ISA=AVX2

test-avx2: .venv/developing
	$(AVX2) .venv/bin/python -m pytest tests/test_engines.py tests/test_bundled.py tests/test_real.py

check: .venv/developing
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m pytest --quiet tests/test_imports.py

results: .venv/installed
	.venv/bin/python -m transduce.evaluate.results results README.md

docs: .venv/installed
	.venv/bin/python -m transduce.config.reference > docs/settings.md

clean:
	rm -rf .venv build *.egg-info

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[train,evaluate,figures,serve]'
	@touch $@

.venv/developing: .venv/installed
	$(PIP) --editable '.[dev]'
	@touch $@
