# Two commands for a newcomer: `make demo` and `make test`. Both make .venv first, if there is none.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check format clean help

help:  ## what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(INSTALLED)  ## translate with the shipped model, or with one trained on a synthetic bitext
	$(BIN)/alidade demo

test: $(INSTALLED)  ## run all tests (both cores, under ten minutes)
	$(BIN)/pytest -q -n 2 --dist worksteal

check: $(INSTALLED)  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,eflomal,inflect]'
	touch $(INSTALLED)

clean:  ## remove the environment and all caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build src/*.egg-info
