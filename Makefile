# `make solve` runs the main job, `make test` the tests, `make docs` builds the site. All set up .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROBLEM ?= burgers
ARGS ?= --act tanh --scale 1.3

.PHONY: solve test docs setup clean

solve: setup
	$(BIN)/python -m pinnsig solve $(PROBLEM) $(ARGS)

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2

# PINNSIG_DOCS_SECONDS says how long each problem of the gallery trains
docs: $(VENV)/.docs
	rm -rf build/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --builder html --doctree-dir build/doctrees docs build/docs
	$(BIN)/python docs/_check.py build/docs

setup: $(VENV)/.installed

# torch goes first and pinned, so that no other package pulls in a different one
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build docs/generated docs/tutorials/runs *.egg-info
