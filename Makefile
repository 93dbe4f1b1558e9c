# Everything runs in .venv, which is made from pyproject.toml at first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PLOTTING := $(VENV)/.plotting
RESULTS := benchmarks/results
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run demo test check bench bench-quick bench-readme soak fix clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "keryx needs Python 3.11 or newer; name one with make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "this Python cannot make virtual environments; install its venv package"; exit 1; }
	@echo "setting up $(VENV), once"
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --group dev --editable .
	@touch $@

run: $(READY) ## Open the shell here with the built-in model (ARGS="--root DIR …")
	@$(BIN)/keryx $(ARGS)

demo: $(READY) ## Play a whole session on a throwaway copy of an example project
	@$(BIN)/python examples/demo.py

test: $(READY) ## Pass the tests
	$(BIN)/python -m pytest -q -m "not soak" $(ARGS)

check: $(READY) ## Lint, formatting, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory test

soak: $(READY) ## The long tests
	$(BIN)/python -m pytest -q -m soak $(ARGS)

$(PLOTTING): $(READY)
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --editable '.[bench]'
	@touch $@

bench: $(PLOTTING) ## Measure keryx side by side with git, 3,000 to 100,000 files
	$(BIN)/python -m benchmarks.snapshots --files 3000 30000 100000 \
	  --json $(RESULTS).json --plot $(RESULTS).png $(ARGS)

bench-quick: $(READY) ## The same with 3,000 files
	$(BIN)/python -m benchmarks.snapshots --files 3000 --runs 2 $(ARGS)

bench-readme: $(READY) ## Put what the last make bench found into the README
	$(BIN)/python -m benchmarks.readme $(RESULTS).json

fix: $(READY) ## Mend what lint and formatting can mend by themselves
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what make has made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis $(RESULTS).json $(RESULTS).png
