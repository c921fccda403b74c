# Two commands for a newcomer: `make demo` and `make test`. Both make .venv first, if there is none.
PYTHON ?= python3
BIN := .venv/bin
EXTRAS ?= train,evaluate,plot,zh,eflomal,inflect,files,serve,parquet,dev
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
BASE := .venv/.installed-base
ALL := .venv/.installed-all

.PHONY: demo serve test processors check format clean help

help:  ## what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(BASE)  ## translate with the shipped model, and draw a picture
	$(BIN)/alidade demo

serve: $(BASE)  ## start the server with the shipped model, for this machine alone, and show its page
	$(INSTALL) -e '.[serve,files,inflect]'
	$(BIN)/alidade serve --open

test: $(ALL)  ## run all tests (both cores, under ten minutes)
	$(BIN)/pytest -q -n 2 --dist worksteal

COMPUTING := tests/models tests/engine tests/search tests/equivalence tests/training tests/test_hardware.py
processors: $(ALL)  ## run the tests that compute once more, as on a processor without AVX-512 and without oneDNN
	ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 $(BIN)/pytest -q -n 2 --dist worksteal $(COMPUTING)
	ALIDADE_ONEDNN=off $(BIN)/pytest -q -n 2 --dist worksteal $(COMPUTING)

check: $(ALL)  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(ALL)  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What translating and drawing need.
$(BASE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e '.[plot]'
	touch $@

# Everything that tests need.
$(ALL): $(BASE)
	$(INSTALL) -e '.[$(EXTRAS)]'
	touch $@

clean:  ## remove the environment and all caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build src/*.egg-info
