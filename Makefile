# `make` alone prints what there is. Needs make, git and Python 3.10-3.13 (or uv); the rest is installed into this clone.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv/bin
PYTEST := $(VENV)/python -m pytest
# The rungs from the quickest up; each is also a folder under tests/ and a marker.
QUICK_RUNGS := tests/unit tests/contracts tests/properties
# The longest files first, and kept so, or one process would be left alone with them at the end.
ALL_RUNGS := tests/integration tests/spark $(QUICK_RUNGS)
# Among the long tests, single files of the quick rungs take longest: the simulator's episodes and the properties.
LONG_RUNGS := tests/unit tests/properties tests/contracts tests/integration tests/spark
# Files side by side, each whole in one process: a process has its own Spark session and its own emulator.
JOBS ?= 2
SIDE_BY_SIDE := --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder
# COVERAGE=yes measures the lines that tests run, as CI does; it takes a fifth longer. What each module has is in
# build/coverage/modules.md, too.
COVERAGE ?=
MEASURED := --cov --cov-report= --cov-report=markdown:build/coverage/modules.md

.PHONY: help
help: ## Print this
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo

##@ Start here
.PHONY: setup
setup: ## Install all that is needed into .venv and .cache (again at any time: does only what changed)
	@scripts/bootstrap

.PHONY: demo
demo: setup ## Watch files become tables: the whole pipeline on this machine, no cloud, no Docker
	@$(VENV)/headwater demo $(ARGS)

##@ Test
.PHONY: setup-tests
setup-tests:
	@scripts/bootstrap --tests

.PHONY: test
test: setup-tests ## All rungs without what is slow: within 20 minutes on two cores. CI adds COVERAGE=yes and its floor
	$(PYTEST) $(ALL_RUNGS) $(SIDE_BY_SIDE) $(if $(COVERAGE),$(MEASURED)) $(ARGS)

.PHONY: test-slow
test-slow: setup-tests ## Kills, faults, bad situations, many files and columns: as long again; CI does both
	$(PYTEST) $(ALL_RUNGS) -m "slow and not long" $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-unit
test-unit: setup ## Seconds: unit, contracts and properties; no JVM, no network
	$(PYTEST) $(QUICK_RUNGS) $(ARGS)

.PHONY: test-spark
test-spark: setup ## A local JVM and real Hudi
	$(PYTEST) tests/spark -m "not long" $(ARGS)

.PHONY: test-integration
test-integration: setup ## The emulator and real processes
	$(PYTEST) tests/integration -m "not long" $(ARGS)

.PHONY: test-tables
test-tables: setup ## What is long about tables: every option and index, queries, services, locks
	$(PYTEST) tests/contracts tests/spark/ingest/tables tests/spark/lake tests/spark/medallion tests/integration/lake -m long --timeout=900 --record-passes $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-long
test-long: setup ## Minutes to hours: what is marked long, and the properties with many more examples
	$(PYTEST) $(LONG_RUNGS) -m "long or properties" --hypothesis-profile=long --timeout=3600 --record-passes $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-seventh
test-seventh: setup ## A seventh of what is long, at most MINUTES=20: COMMIT chooses which, HEAD unless given
	$(PYTEST) tests -m long --seventh-of=$(or $(COMMIT),$$(git rev-parse HEAD)) --end-after=$(or $(MINUTES),20) --timeout=900 --record-passes $(SIDE_BY_SIDE) $(ARGS)

.PHONY: simulate
simulate: setup ## The pipeline without Spark in a world that fails on purpose: SEED=1 STEPS=100000, or EPISODE=n
	$(VENV)/python -m simulator.run $(if $(EPISODE),--episode $(EPISODE),--seed $(or $(SEED),1) --steps $(or $(STEPS),100000)) $(ARGS)

.PHONY: mutants
mutants: setup ## Break one line at a time: the tests named for it must fail. Minutes; before a release, or W=word
	$(VENV)/python scripts/mutants.py --jobs $(JOBS) $(W)

.PHONY: bench
bench: setup ## All benchmarks, one JSON line each; one of them: make bench B=name
	$(VENV)/python -m benchmarks.run $(B)

.PHONY: soak
soak: setup ## Twenty changes a second for M=60 minutes: memory, files, threads and lag stay flat; writes build/soak.svg
	@mkdir -p build
	$(VENV)/python -m benchmarks.soak --minutes $(or $(M),60) --plot build/soak.svg --samples build/soak.jsonl

.PHONY: retrieval-figures
retrieval-figures: setup ## Judge every way to rank; writes docs/reference/retrieval.md and its plot
	$(VENV)/python -m scripts.write_retrieval_reference

##@ Check
CHECKS := check-format check-lint check-types check-imports check-structure check-language check-locks

.PHONY: check $(CHECKS)
check: $(CHECKS) ## Format, lint, types, import contracts, structure, language, locks; all findings at once: make -k check
$(CHECKS): setup

check-format:
	$(VENV)/ruff format --check .
check-lint:
	$(VENV)/ruff check .
check-types:
	$(VENV)/mypy
check-imports:
	$(VENV)/lint-imports --no-logo
check-structure:
	$(VENV)/python scripts/check_structure.py
check-language:
	$(VENV)/python scripts/check_language.py
check-locks:
	$(VENV)/python scripts/lock_dependencies.py --check

.PHONY: check-deploy
check-deploy: ## deploy/: Containerfile, Kubernetes manifests, Helm chart, Terraform module, systemd units
	@scripts/bootstrap --deploy
	$(PYTEST) tests/unit/deploy $(ARGS)

.PHONY: deploy-tools
deploy-tools: ## Build Helm and kustomize with Go, so that make check-deploy runs them, too: minutes, once
	GOBIN=$(CURDIR)/.cache/deploy/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0
	GOBIN=$(CURDIR)/.cache/deploy/bin go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1

.PHONY: check-orchestrators
check-orchestrators: ## examples/: Airflow, Dagster and dbt run them over a lake in a folder
	@scripts/bootstrap --orchestrators
	$(PYTEST) tests/integration/orchestrators -m long --record-passes $(ARGS)

.PHONY: docs
docs: ## Build the documentation site into build/site; a broken link is an error
	@scripts/bootstrap --docs
	NO_MKDOCS_2_WARNING=1 .cache/docs/bin/mkdocs build --strict $(ARGS)

.PHONY: docs-serve
docs-serve: ## Serve the documentation on this machine, and build it again after each change
	@scripts/bootstrap --docs
	NO_MKDOCS_2_WARNING=1 .cache/docs/bin/mkdocs serve $(ARGS)

.PHONY: format
format: setup ## Format the code and mend what ruff can mend
	$(VENV)/ruff format .
	$(VENV)/ruff check --fix .

##@ Release
.PHONY: release-check
release-check: setup ## Before a release: did each long test pass within the last week?
	$(VENV)/python scripts/check_release.py

.PHONY: dist
dist: ## Build wheel, source distribution, bill of materials, notes and checksums into dist/VERSION
	@scripts/bootstrap --release
	$(VENV)/python -m scripts.build_release $(ARGS)

.PHONY: release
release: release-check ## The same from a clean commit, and tag it; scripts/versions.py sets the version before
	@scripts/bootstrap --release
	$(VENV)/python -m scripts.build_release --tag

##@ Keep up
.PHONY: lock
lock: setup ## Pin again what pyproject.toml asks for; UPGRADE=1 moves all pins to the newest
	$(VENV)/python scripts/lock_dependencies.py $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## Remove caches and what tests left; keeps .venv and .cache
	rm -rf build dist .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf spark-warehouse metastore_db derby.log

.PHONY: clean-all
clean-all: clean ## Also remove .venv and .cache: the next make sets up from nothing
	rm -rf .venv .cache
