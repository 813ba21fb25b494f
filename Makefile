# Two commands: `make solve` runs the main job, `make test` the tests. Both set up .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PROBLEM ?= burgers
ARGS ?= --act tanh --scale 1.3

.PHONY: solve test setup clean

solve: setup
	$(BIN)/python -m pinnsig solve $(PROBLEM) $(ARGS)

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2

setup: $(VENV)/.installed

# torch goes first and pinned, so that no other package pulls in a different one
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
