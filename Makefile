# Everything a checkout needs. Only python3 (3.11 or newer, with venv) has to be there already.
# uv is used for installing when it is on the PATH; nothing requires it.
.DEFAULT_GOAL := help
.PHONY: help setup run test check bench eval lock pictures
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
LOCKS := requirements/run.txt requirements/test.txt

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv and install the locked dependencies (does nothing when they are there)

# A stamp inside the folder it describes: deleting .venv is enough to start over.
$(STAMP): $(LOCKS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Signoff needs Python 3.11 or newer; name one with: make setup PYTHON=/path/to/python3"; exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "Python's venv module is missing; install it (Debian, Ubuntu: apt-get install python3-venv) and try again."; exit 1; } >&2
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@if command -v uv >/dev/null 2>&1; then \
		uv pip sync --quiet --require-hashes --python $(PY) requirements/test.txt; \
	else \
		$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/test.txt; \
	fi
	@touch $@

run: setup ## Start Signoff with ./config.yaml
	@exec $(PY) -m bot run

test: setup ## Run the whole test suite
	$(PY) -m pytest --numprocesses $(WORKERS) --dist worksteal

check: setup ## Lint, formatting, types, architecture
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest --quiet tests/test_architecture.py

bench: setup ## Run the benchmarks and print a table
	$(PY) -m bench

eval: setup ## Run the scripted evals and print a table
	$(PY) -m bot eval

# --no-config and no index lines: a lock made behind a private mirror would not install elsewhere.
UV_COMPILE = env -u UV_INDEX -u UV_DEFAULT_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS uv pip compile --quiet --no-config \
	--universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock' $(UPGRADE) pyproject.toml

lock: ## Write requirements/*.txt anew (needs uv; UPGRADE=--upgrade takes newer versions)
	@command -v uv >/dev/null 2>&1 || { echo "make lock needs uv: https://docs.astral.sh/uv/"; exit 1; } >&2
	$(UV_COMPILE) --output-file requirements/run.txt
	$(UV_COMPILE) --extra test --constraint requirements/run.txt --output-file requirements/test.txt

pictures: setup ## Take the pictures of the README anew (needs Debian's chromium)
	$(PY) -m tests.browser.pictures
