# Everything runs in an environment of its own, made with Python 3.11 or newer and pip alone. It is made anew when
# the lock changes. Paths are relative, so that a checkout may stand in a folder with spaces in its name.

PYTHON ?= python3
VENV ?= .venv
FILE ?= examples/trees.jsonl

python := "$(VENV)/bin/python"
pip := $(python) -m pip --quiet --disable-pip-version-check
compile := uv pip compile --quiet --no-header --no-emit-index-url --generate-hashes --universal --python-version 3.11

.DEFAULT_GOAL := help
.PHONY: help run test demo openapi fix lock clean

help: ## list what make can do
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 12

run: $(VENV)/ready ## start the local server; HOST=… and PORT=… choose where
	$(python) -m local_server

test: $(VENV)/ready ## check format, lint and types, then run the tests
	$(python) -m ruff format --check
	$(python) -m ruff check
	$(python) -m mypy
	$(python) -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder

demo: $(VENV)/ready ## fork and show the conversations of FILE=… on a running local server
	$(python) -m demo "$(FILE)"

openapi: $(VENV)/ready ## write docs/openapi.json anew from the operations
	$(python) -m local_server.openapi > docs/openapi.json

fix: $(VENV)/ready ## format, and mend what the linter can
	$(python) -m ruff check --fix-only
	$(python) -m ruff format

lock: ## pin everything anew from pyproject.toml and the files requirements.in; needs uv
	@command -v uv >/dev/null || { echo "make lock needs uv on the PATH" >&2; exit 1; }
	$(compile) layers/core/requirements.in -o layers/core/requirements.txt
	$(compile) functions/authorizer/requirements.in -o functions/authorizer/requirements.txt
	$(compile) pyproject.toml --extra dev -c layers/core/requirements.txt \
		-c functions/authorizer/requirements.txt -o requirements-dev.txt

clean: ## remove the environment and whatever was built or cached
	rm -rf "$(VENV)" .aws-sam .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two steps: another line of pyproject.toml need not cost what a new lock does.
$(VENV)/ready: $(VENV)/locked pyproject.toml
	$(pip) install --no-deps --no-build-isolation --editable .
	@touch "$@"

$(VENV)/locked: requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "forklore needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)." \
			"Name a newer one: make PYTHON=python3.13 …" >&2; exit 1; }
	@echo "Installing into $(VENV); this takes about half a minute, once."
	@$(PYTHON) -m venv --clear "$(VENV)"
	$(pip) install --require-hashes --requirement requirements-dev.txt
	@touch "$@"
