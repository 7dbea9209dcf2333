# The two commands of the README. Each makes the environment it needs under .venv, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# setuptools warns of every editable installation.
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet

.PHONY: demo test quick core core-test core-lint pytest pythons engines chaos rehearse fuzz coverage try-it lint results types docs \
	audit lock clean

demo: $(VENV)/.data
	$(BIN)/wikianchor demo

# Types are checked by one process, in the time in which the tests start.
test: $(VENV)/.dev
	$(MAKE) --jobs=2 --no-print-directory lint types pytest

# The compiled core, which `wikianchor` takes where it is installed. Needs cargo.
core: $(VENV)/.core

# Both engines on all dumps at hand and on a million random pages, 600,000 of them with tables of templates, and the
# tests of the crate.
core-test: core
	cd core && cargo test --quiet --package wikianchor-engine
	$(BIN)/python -m tests.both_engines --cases=1000000

# The tests start hundreds of processes: what is compiled is kept for the next, even where the surroundings say no. One
# process more than the two cores that CI has, since many tests wait. What imports torch is tested in a process of its
# own, since that takes each process ten seconds.
MODELS := $(addprefix tests/,api cli/test_wrong_input.py commands/test_release.py dataset/test_summary.py \
	engine/test_engines.py export japanese mteb score trainer test_benchmark_gpu.py test_plots.py)
pytest: export PYTHONDONTWRITEBYTECODE =
pytest: $(VENV)/.dev
	$(BIN)/python -m pytest $(MODELS) & models=$$!; \
	$(BIN)/python -m pytest -n 2 --dist=worksteal $(MODELS:%=--ignore=%); data=$$?; \
	wait $$models && exit $$data

# The wheel, the demo and the fast tests of the pipelines on every CPython of this machine, those of pyenv too.
pythons: $(VENV)/.dev
	PATH="$$(printf '%s:' $(HOME)/.pyenv/versions/*/bin)$$PATH" $(BIN)/tox run

# Every pipeline on the engines that take longer or are not Python: Prism, Flink, Spark.
engines: $(VENV)/.dev
	$(BIN)/python -m pytest -m nightly tests/engine/test_engines.py tests/engine/test_dataflow.py tests/test_docker.py

# Workers, launchers, services, calls, requests and clocks that fail in the middle of a run; each flipped byte of a dump;
# 310 wikis under 256 open files.
chaos: $(VENV)/.dev
	$(BIN)/python -m pytest -m nightly tests/engine/test_chaos.py tests/engine/test_failing_calls.py \
		tests/dataset/test_buckets.py tests/wikimedia/test_dumps.py tests/commands/test_many_wikis.py

# What of training on a GPU a machine without one can try: shapes on "meta", captured steps with a stand-in, memory,
# decoders and encoders of each architecture, the benchmark at toy size. On a GPU also what only it shows.
rehearse: $(VENV)/.dev
	$(BIN)/python -m pytest tests/trainer/models/test_gpu.py tests/trainer/models/test_memory.py \
		tests/trainer/loop/test_graphs.py tests/trainer/loop/test_on_a_gpu.py tests/test_benchmark_gpu.py
	$(BIN)/python benchmarks/gpu.py --toy

# Random input, guided by the branches that it takes: the core by cargo-fuzz, Python by Atheris. An hour for each target.
fuzz: SECONDS_EACH ?= 3600
fuzz: $(VENV)/.fuzz core
	$(BIN)/python -m tests.fuzz_all --seconds=$(SECONDS_EACH)

# Branches of dataset/, engine/ and wikimedia/ that the tests take, in all processes that they start. Left out are real
# dumps, so that the figures are the same on every machine, limits of time, which measuring makes longer, and nightly tests:
# what only these run is not covered. No line is excluded.
coverage: export WIKIANCHOR_DATA =
coverage: $(VENV)/.dev
	rm -rf out/coverage
	$(BIN)/python -m coverage run -m pytest -n 2 --dist=worksteal -k "not time_grows and not time_that_grows and not ends_a_run_at_once" $(addprefix tests/,api arrays cli \
		commands dataset engine io sentences templates text titles wikimedia) tests/test_bad_input.py tests/test_empty.py \
		tests/test_fuzz.py tests/test_fuzz_targets.py tests/test_security.py
	$(BIN)/python -m coverage combine --quiet
	for folder in dataset engine wikimedia; do \
		$(BIN)/python -m coverage report --include="pipelines/$$folder/*" --skip-covered --fail-under=95 || exit 1; done

lint: $(VENV)/.dev core-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python benchmarks/results.py --check
	$(BIN)/python -m tools.budget

# Form, lints and tests of the core, where there is a Rust compiler.
core-lint:
	@if command -v cargo > /dev/null; then cd core && cargo fmt --check \
		&& cargo clippy --quiet --workspace --all-targets -- -D warnings && cargo test --quiet --package wikianchor-engine; \
	else echo "NO cargo: the core is not checked"; fi

# The loop of work, within a minute on two idle cores: lint, then the fast tests of the lower layers.
quick: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not real and not nightly" --hypothesis-profile=quick \
		$(addprefix tests/,aliases arrays schemas text titles wikimedia/test_pages.py wikimedia/test_site.py \
		wikimedia/test_titles.py test_budget.py test_imports.py)

# Measure tables of benchmarks/RESULTS.md again, all or those of TABLES="bz2 pairs": hours, and an idle machine.
results: $(VENV)/.dev
	$(BIN)/python benchmarks/results.py $(TABLES)

types: $(VENV)/.dev
	$(BIN)/mypy

# A marker file for each set of packages, so that a second run starts at once.
$(VENV)/.data: pyproject.toml setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.data
	$(PIP) -e '.[dev,docs,train,eval,ja,t5,hub,hub-dev,figures]'
	touch $@

# Built again only when its sources have changed, and by cargo only what those change (core/target).
$(VENV)/.core: $(VENV)/.data $(shell find core/Cargo.* core/pyproject.toml core/engine core/python -type f)
	$(PIP) ./core
	touch $@

# The site of docs/, into out/site; a link that leads nowhere is an error. Its page "Try it" needs npm.
docs: $(VENV)/.docs
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir=out/site
	$(BIN)/python -m tools.site_engine out/site

# The page "Try it" under Node.js and in Chromium, with Pyodide from npm.
try-it: $(VENV)/.dev
	$(BIN)/python -m pytest -m nightly tests/test_site.py

# Known vulnerabilities of what the locks pin; licences, sources and duplicates of the crates (cargo install cargo-deny).
audit: $(VENV)/.audit
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --progress-spinner=off -r docker/requirements.lock
	cargo deny --manifest-path=core/Cargo.toml --locked --log-level=error check
	cargo deny --manifest-path=core/fuzz/Cargo.toml --locked --log-level=error check

# Pin again: every package and its hashes for each supported Python, and the tools that build the package in the images;
# and write the software bill of materials (SBOM) of each image, with the licences of the packages that the lock installs
# under out/locked. Renovate (renovate.json) pins base images by digest and actions by commit.
lock: $(VENV)/.audit
	$(BIN)/uv pip compile pyproject.toml --extra gcp --extra hub --universal --python-version 3.10 --generate-hashes \
		--no-annotate --quiet --custom-compile-command="make lock" -o docker/requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra gcp --extra ja --extra train --extra eval --extra t5 --python-platform linux \
		--python-version 3.11 --generate-hashes --no-annotate --quiet --custom-compile-command="make lock" -o docker/gpu.lock
	mkdir -p out
	$(BIN)/python -c "from wikianchor.io.config_file import tomllib; \
		print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" > out/build.in
	$(BIN)/uv pip compile out/build.in --universal --python-version 3.10 --generate-hashes --no-annotate --quiet \
		-c docker/requirements.lock -c docker/gpu.lock --custom-compile-command="make lock" -o docker/build.lock
	$(BIN)/uv pip install --quiet --no-deps --target out/locked -r docker/requirements.lock -r docker/build.lock
	$(BIN)/python -m tools.sbom out/locked

$(VENV)/.docs: pyproject.toml $(VENV)/.data
	$(PIP) -e '.[docs]'
	touch $@

$(VENV)/.audit: pyproject.toml $(VENV)/.data
	$(PIP) -e '.[audit]'
	touch $@

$(VENV)/.fuzz: pyproject.toml $(VENV)/.data
	$(PIP) -e '.[fuzz]'
	touch $@

clean:
	rm -rf $(VENV) out build dist *.egg-info
