# Zero Memory. `make demo` starts everything with a demo corpus; `make` lists the other targets.

.DEFAULT_GOAL := help
.PHONY: help demo up test long check lint bench bench-peers eval lock environment environment-dev

PYTHON_IN := .venv/bin/python
MANAGE := $(PYTHON_IN) manage.py
PYTEST := $(PYTHON_IN) -m pytest
# One more than there are processors: starting instances, browsers and killed workers is waiting for the most part.
PROCESSES ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
export PYTHON

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

demo: environment  ## everything from nothing, with a demo corpus
	@exec $(MANAGE) demo

up: environment  ## the same without the demo corpus
	@exec $(MANAGE) up

test: environment-dev  ## the suite; ARGS="-k name" narrows it
	@$(PYTEST) -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "not long" $(ARGS)

long: environment-dev  ## the tests that take minutes: killed workers, other databases, evaluations, half a year of use
	@$(PYTEST) -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m long $(ARGS)

check: lint test  ## what CI runs: lint, types, import contracts, migrations, tests

lint: environment-dev  ## everything in check but the tests
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/djade --check $$(git ls-files 'templates/*.html')
	@$(PYTHON_IN) -m mypy manage.py zeromemory memories reflections insights
	@$(PYTHON_IN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	@ZEROMEMORY_DATA=$${ZEROMEMORY_DATA:-var}/test $(MANAGE) makemigrations --check --dry-run

bench: environment  ## recall beside its floor, under load, and ingest; minutes
	@$(PYTHON_IN) -m tests.benchmarks $(ARGS)

bench-peers: environment  ## other memory stores beside this one, on a set in ZEROMEMORY_EVAL_DATA; needs the network
	@$(PYTHON_IN) -m tests.benchmarks peers $(ARGS)

eval: environment  ## retrieval, ageing and clustering evaluation
	@$(MANAGE) evaluate $(ARGS)
	@$(if $(ARGS),,$(MANAGE) evaluate_clusters)

lock:  ## compile the hash-locked requirements from pyproject.toml (needs uv)
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
		--python-version 3.12 pyproject.toml --output-file requirements.txt
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
		--python-version 3.12 pyproject.toml --extra dev --output-file requirements-dev.txt

environment:
	@sh .ci/environment requirements.txt

environment-dev:
	@sh .ci/environment requirements-dev.txt
	@sh .ci/environment requirements.txt
