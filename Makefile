# Everything lives in .venv inside the project; nothing else is installed anywhere.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check evidence bench docs lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv with the pinned packages and Delta's jars

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "lakebed needs Python 3.11: install it, or name one with make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing the pinned packages (the first time takes some minutes; pyspark alone is about 450 MB)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)
