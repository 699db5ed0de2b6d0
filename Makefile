# Everything below needs Python 3.11 or newer and make; the rest it sets up itself, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KMETER := $(BIN)/kmeter
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test format lint types imports wheel check bench screenshots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## create .venv with kmeter and everything its development needs

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kmeter needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "this Python cannot make a venv: install python3-venv (Debian, Ubuntu)"; exit 1; }
	@echo "setting up $(VENV), about a minute ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt \
	  --editable '.[dev]'
	@$(BIN)/python -m compileall -q kmeter
	@touch $@

demo: setup ## what kmeter is for, on a machine without a GPU
	@echo "No GPU is used here: numbers of cards come from kmeter's catalogue."
	@echo; echo '$$ kmeter gpus h100 h200 4090'; $(KMETER) gpus h100 h200 4090
	@echo; echo '$$ kmeter occupancy --block 256 --regs 64 -d h100-sxm'
	@$(KMETER) occupancy --block 256 --regs 64 -d h100-sxm
	@echo; echo '$$ kmeter roofline -d h100-sxm --ai 0.33'; $(KMETER) roofline -d h100-sxm --ai 0.33
	@echo; echo '$$ kmeter bench --init mine.py; kmeter bench mine.py   (NumPy, on this CPU)'
	@folder=$$(mktemp -d); kmeter=$(abspath $(KMETER)); cd $$folder && $$kmeter bench --init mine.py && \
	  $$kmeter bench mine.py; rm -r $$folder

test: setup ## run the tests (no GPU needed)
	@$(BIN)/python -m pytest -q -n auto

format: setup ## put the code into its format
	@$(BIN)/ruff check --quiet --select I --fix . && $(BIN)/ruff format .

lint: setup ## check format and style
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .

types: setup ## check the types, strictly
	@$(BIN)/mypy

imports: setup ## check that imports point one way
	@$(BIN)/lint-imports --no-cache

wheel: setup ## build the wheel and run it from a clean venv elsewhere
	@$(BIN)/python tests/check_wheel.py

check: lint types imports wheel test ## everything that must hold before a commit

bench: setup ## measure kmeter's own speed
	@$(BIN)/python -m compileall -q kmeter  # as an installed kmeter is
	@$(BIN)/python tests/bench.py

screenshots: setup ## draw the pictures of the README
	@$(BIN)/python screenshots/capture.py

clean: ## remove what the targets above have made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find kmeter tests screenshots -name __pycache__ -prune -exec rm -rf {} +
