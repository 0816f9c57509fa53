# Everything a person or a machine does with this checkout. `make help` lists it.

PYTHON := $(shell for each in python3 python3.13 python3.12 python3.11 python; do \
	$$each -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { command -v $$each; break; }; done)
BIN := .venv/bin
MESSAGES := $(wildcard locale/*/LC_MESSAGES/django.po)
ARGS ?=
BENCH ?=
NODES ?=

# If set, every process would compile every module again: seconds at each start.
unexport PYTHONDONTWRITEBYTECODE
export DJANGO_SETTINGS_MODULE := berth.settings

.DEFAULT_GOAL := help
.PHONY: help venv run kube nodes run-kube test check bench bench-full lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: ## create or update .venv; at once when nothing changed
	@test -n "$(PYTHON)" || { echo "berth: Python 3.11 to 3.13 with venv is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@"$(PYTHON)" requirements/install.py
	@$(if $(MESSAGES),$(MAKE) --silent --no-print-directory $(MESSAGES:.po=.mo))

%.mo: %.po
	@$(BIN)/pybabel --quiet compile --input-file $< --output-file $@ --locale zh_Hans

run: venv ## start Berth with its own PostgreSQL and Valkey: BERTH_PORT=8000 BERTH_DEMO=1
	@exec $(BIN)/python -m berth.localstack run

kube: venv ## a Kubernetes control plane with pretended nodes, until Ctrl-C; built once, in about ten minutes
	@PYTHONPATH=deploy exec $(BIN)/python -m testplane

nodes: venv ## root on Debian: the control plane with three nodes that run real containers, until Ctrl-C
	@PYTHONPATH=deploy exec $(BIN)/python -m testplane nodes

run-kube: venv ## start Berth on a control plane as `make kube` makes it, or on real nodes: NODES=real
	@PYTHONPATH=deploy exec $(BIN)/python -m testplane $(if $(filter real,$(NODES)),nodes) run

test: venv ## run the whole suite: ARGS='tests/unit -k gang' for a part
	@$(BIN)/python tests/chromium.py
	@PYTHONPATH=deploy $(BIN)/python -m testplane.build
	@PYTHONPATH=deploy $(BIN)/python -m testplane.real.packages
	@BERTH_SCENES=$${BERTH_SCENES:-10000} exec $(BIN)/python -m berth.localstack with-services test -- $(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

check: venv ## format, lint, types, import contracts, migrations, OpenAPI, translations, templates, image, Kubernetes, compose
	@"$(PYTHON)" requirements/install.py deploy
	@exec $(BIN)/python deploy/check.py

bench: venv ## benchmarks within 20 minutes; JSON in benchmarks/results/
	@exec $(BIN)/python -m berth.localstack with-services bench -- $(BIN)/python -m benchmarks $(BENCH)

bench-full: venv ## all lists and seeds
	@exec $(BIN)/python -m berth.localstack with-services bench -- $(BIN)/python -m benchmarks --full $(BENCH)

lock: venv ## resolve pyproject.toml into requirements/: UPGRADE=1 for the newest
	@$(BIN)/python requirements/lock.py $(if $(UPGRADE),--upgrade)
