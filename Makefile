PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What `make run` compares, and what it keeps.
COMPARE ?= --report build/report.html --report build/report.md --save build/best.sumwise

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Bytecode is made by the first import of a module, and kept: pip would compile all modules.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --editable

.DEFAULT_GOAL := help
.PHONY: run test lint kernels docs bench wheel clean help

run: $(VENV)/.core  ## compare all ensembles; writes build/report.html and build/best.sumwise
	$(BIN)/sumwise compare $(COMPARE)

test: $(VENV)/.dev  ## lint and compile side by side, then run all tests
	$(MAKE) --jobs=2 lint kernels
	$(BIN)/pytest -n auto --dist worksteal

kernels: $(VENV)/.dev  ## compile what the kernel cache does not have yet
	$(BIN)/sumwise warmup

lint: $(VENV)/.dev  ## style, types, import layers, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

docs: $(VENV)/.docs  ## build the documentation site into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.dev  ## measure sumwise side by side with its rivals
	$(BIN)/python -m benchmarks.compare

wheel: $(VENV)/.dev  ## build a wheel for this platform, with compiled kernels
	$(BIN)/python -m build_tools.library build/compiled_kernels
	SUMWISE_LIBRARY=build/compiled_kernels $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove everything that make and the tools created
	rm -rf $(VENV) build dist catboost_info .hypothesis .*_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps make a second call quick; `.dev` includes what `.core` installs.
$(VENV)/.core: pyproject.toml | $(BIN)/python
	@echo "Installing sumwise into $(VENV): about half a minute"
	$(INSTALL) '.[progress]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[docs]'
	touch $@ $(VENV)/.core

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $@ $(VENV)/.core
