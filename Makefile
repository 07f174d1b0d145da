# Two commands set everything up on a fresh Debian machine with Python 3.11 and root:
#   make demo   an example project and its report, offline after the install
#   make test   every check and test; installs what they need
# The rest are the same checks one by one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo-project
WORKERS ?= 3
COVERAGE ?= --cov --cov-report= --cov-fail-under=0

# Tests start hundreds of Pythons: what one has compiled, the others read.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check unit docs fix system model-server collected clean

demo: $(VENV)/.base
	$(BIN)/claimwise demo $(DEMO)

# What waits for the network, what keeps one core busy, and what the tests need: side by side.
test:
	$(MAKE) --no-print-directory --jobs --output-sync=target system check model-server collected
	$(MAKE) --no-print-directory unit

# Formatting, lint, types, layers, and generated pages.
check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/cog -I scripts --check --check-fail-msg "run: make docs" docs/*.md

# Three for two cores: tests wait for browsers, servers and deadlines a fifth of the time.
# A file's tests stay together. In the order of their folders: sorted by their number of tests, the
# files with few and long ones (a browser, a killed process) would come last, and one worker wait.
# Coverage has a floor (pyproject.toml), which its own report checks: pytest would make the report twice.
# `make unit COVERAGE=` runs the tests alone, in less time.
# The slowest are named at the end: the whole has a limit of twelve minutes on two cores.
unit: $(VENV)/.dev
	$(BIN)/pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder --durations 20 $(COVERAGE)
	$(if $(COVERAGE),$(BIN)/coverage report)

# Every worker needs all test modules compiled. If that fails, `make unit` says why.
collected: $(VENV)/.dev
	-@$(BIN)/pytest --collect-only --quiet > /dev/null 2>&1

# Rewrites the generated parts of the pages.
docs: $(VENV)/.dev
	$(BIN)/cog -I scripts -r docs/*.md

fix: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What tests need beyond Python: a real PostgreSQL, the sqlite3 shell, a real browser.
system:
	./scripts/install-system-packages

# A real local model for tests/llm/test_real_server.py, which is skipped without it.
model-server: $(VENV)/.dev
	./scripts/install-model-server $(BIN)/python

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[encoder,web]"
	touch $@

# Not compiled: of the largest packages, tests import a small part.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --no-compile --editable . --group dev
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) $(DEMO) .mypy_cache .pytest_cache .ruff_cache .hypothesis
