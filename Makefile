# Commands of the house. `make` alone lists them.
#
# Everything runs in .venv, which is made on first use with the first suitable Python on the path;
# choose another one with `make venv PYTHON=python3.13`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	>/dev/null 2>&1 && { echo $$python; break; }; done)
BIN := .venv/bin
JOBS ?= 2
COUNT ?= 1000
TIME ?=
SAMPLE ?= 200
PYTHONS ?= python3.11 python3.12 python3.13
SEED ?= 0
NETWORK ?= resnet50
ARCH ?= simba.toml

# One thread for each of the processes that run side by side.
export OMP_NUM_THREADS ?= 1

# What machine code depends on: all sources of a folder in which anything is compiled.
KERNELS := ir/compiled.py $(wildcard $(addsuffix *.py,$(sort $(dir \
	$(shell grep -rl "compiled import" --include=*.py passes runtime_sim)))))

# Without bytecode each of the many processes that tests start would compile the whole package.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help venv demo test test-all quick pytest kernels browser fuzz pythons hostile attack mutants lint format types newcomer site wheel clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: .venv/installed-dev ## make .venv with everything that developing needs

demo: .venv/installed ## build ResNet-50, compile it for simba.toml, prove the program by running it
	@echo "==> acc-zoo $(NETWORK) -o $(NETWORK).onnx: build the network, seeded weights"
	@$(BIN)/acc-zoo $(NETWORK) -o $(NETWORK).onnx
	@echo "==> acc-compile $(NETWORK).onnx --arch $(ARCH): compile, simulate, compare"
	@$(BIN)/acc-compile $(NETWORK).onnx --arch $(ARCH)

test: lint ## lint, types, and all tests but the slow ones
	@$(MAKE) --no-print-directory --jobs $(JOBS) types quick

test-all: lint types kernels ## the same with the slow tests
	@echo "==> pytest: all tests, the slow ones too"
	@ACCNN_ALL_EXAMPLES=1 $(BIN)/pytest -q -n $(JOBS) -m "slow or not slow"

quick: kernels ## the tests but the slow ones
	@$(MAKE) --no-print-directory pytest

pytest: .venv/installed-dev
	@echo "==> pytest: all tests but the slow ones"
	@$(BIN)/pytest -q -n $(JOBS)

kernels: .venv/compiled ## compile the kernels to machine code, as first use would

# Tests that run side by side would each compile them; so would helpers of one process, and two
# processes that begin together: what both of these call is compiled before the second needs it.
KEPT = tests/end_to_end/kept
.venv/compiled: $(KERNELS) | .venv/installed-dev
	@echo "==> machine code of the kernels"
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; export ACCNN_CACHE="$$folder"; \
		{ $(BIN)/acc-map --layer "K=2" --arch simba --mapper salsa >"$$folder/nests" && \
			$(BIN)/acc-compile --quiet $(KEPT)/70000-517/network.onnx --arch simba --mapper output-stationary \
				--timing network --processes 1 -o "$$folder/mesh.acc"; } & first=$$!; \
		$(BIN)/acc-compile --quiet $(KEPT)/78000-670/network.onnx --arch flexer-arch5 --mapper output-stationary \
			--tiles flexer --processes 1 -o "$$folder/net.acc"; \
		wait $$first
	@touch $@

browser: .venv/installed-browser ## look at the report in a real browser (installs one, 550 MB)
	@echo "==> pytest: the report in a browser"
	@$(BIN)/pytest -q -rs tests/compiler/report/html/test_browser.py

fuzz: .venv/installed-dev ## compile COUNT random networks (or for TIME s, SEED), keep failures in fuzz/
	@echo "==> random compilations: $(if $(TIME),$(TIME) s,$(COUNT)), seed $(SEED)"
	@$(BIN)/python -m tests.end_to_end.fuzz --seed $(SEED) $(if $(TIME),--time $(TIME),--count $(COUNT))

pythons: .venv/installed-dev ## compile under several Pythons (PYTHONS) and compare the bytes
	@echo "==> the same bytes under $(PYTHONS)"
	@$(BIN)/python -m tests.pythons $(PYTHONS)

hostile: .venv/installed-dev ## damage COUNT files of every kind and read them (SEED), see hostile/
	@echo "==> damaged files: $(COUNT), seed $(SEED)"
	@$(BIN)/python -m tests.hostile --count $(COUNT) --seed $(SEED)

attack: .venv/installed-dev ## try to beat every bound and optimum for TIME s (3600, SEED), see attack/
	@echo "==> attack on every bound: $(or $(TIME),3600) s, seeds from $(SEED) on"
	@$(BIN)/python -m tests.attack --time $(or $(TIME),3600) --seed $(SEED)

mutants: .venv/installed-dev ## change SAMPLE small things in the source (SEED), see which tests notice
	@echo "==> $(SAMPLE) mutants, seed $(SEED)"
	@$(BIN)/python -m tests.mutants --sample $(SAMPLE) --seed $(SEED) --jobs $(JOBS) --out mutants.jsonl

lint: .venv/installed-dev ## ruff: rules and layout
	@echo "==> ruff: rules and layout"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .

format: .venv/installed-dev ## let ruff repair what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: .venv/installed-dev ## pyright, strict
	@echo "==> pyright: types, strict"
	@$(BIN)/pyright --warnings

newcomer: kernels ## do what newcomers do: docs/getting-started.md with the built wheel
	@echo "==> docs/getting-started.md with the built wheel"
	@$(BIN)/pytest -q -m slow tests/test_getting_started.py -k wheel

site: .venv/installed-dev ## build the documentation site into build/site/html
	@echo "==> documentation site"
	@$(BIN)/python docs/site/build.py build/site

wheel: .venv/installed-dev ## build the wheel into dist/
	@$(BIN)/python -m build --wheel

clean: ## remove what was built; keeps .venv
	@rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis fuzz attack mutants.jsonl

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "accnn needs Python 3.11 or newer with the venv module" \
		"(Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	@echo "==> $(PYTHON) -m venv .venv"
	@$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	@echo "==> pip install -e . (into .venv)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# Byte code of what is used is written on first use: of all that is installed it would take longer.
.venv/installed-dev: pyproject.toml | .venv/bin/python
	@echo "==> pip install -e '.[dev]' (into .venv)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch .venv/installed $@

.venv/installed-browser: .venv/installed-dev
	@echo "==> pip install -e '.[browser]' (into .venv)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
	@touch $@
