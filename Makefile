# Everything lives in .venv inside the project and in the user's cache folder (LAKEBED_CACHE moves that one).
# PYTHON and JAVA_HOME choose other versions than the first ones found; ARGS goes to pytest, WORKLOADS to bench.
PYTHON ?= $(shell for python in python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SEED ?= 1
SHARE ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check evidence bench docs lock clean java

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv with the pinned packages, fetch Delta's jars
demo: setup ## play an example from landing files to history, and show what comes out
	@$(BIN)/python -m examples.cities.play

test: setup ## run all tests
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --durations=25 --durations-min=5 $(ARGS)

check: setup ## format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_architecture.py

evidence: setup ## run the long random series, write docs/evidence.md (SERIES="crash …" SEED=1 SHARE=1)
	@$(BIN)/python -m evidence $(SERIES) --seed $(SEED) --share $(SHARE)

bench: setup ## measure against limits and other ways (WORKLOADS="start …"; all if not given)
	@$(BIN)/python -m bench $(WORKLOADS)

docs: setup ## build the documentation into site/
	@$(BIN)/zensical build --clean --strict

lock: setup ## resolve the packages again into requirements.lock
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --quiet -o requirements.lock

clean: ## remove what was made here: .venv, site, caches of tools
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .cache

$(READY): requirements.lock pyproject.toml src/lakebed/jars.lock | java
	@test -n "$(PYTHON)" && command -v "$(PYTHON)" >/dev/null || { echo "lakebed needs Python 3.11 or later: install it, or name one with make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV)"; "$(PYTHON)" -m venv $(VENV); }
	@echo "installing the pinned packages (minutes the first time: pyspark alone has about 450 MB)"
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@echo "fetching Delta's jars and preparing Spark's start (a minute the first time)"
	@$(BIN)/python -m lakebed.prepare
	@touch $(READY)

java:
	@version=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p'); \
	test "$${version:-0}" -ge 17 || { echo "lakebed needs Java 17 or 21 (found: $${version:-none}): install a Java runtime and set JAVA_HOME to its folder, the one that holds bin/java"; exit 1; }
