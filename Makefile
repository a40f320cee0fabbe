# The commands of users, contributors and CI; `make help` lists them. Everything is installed into .venv, and only
# what changed is built again.

PYTHON ?= python3
CARGO ?= cargo
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
ENGINES := .venv-engines/all
FORMATRON := .venv-engines/formatron
# The backends for vLLM and SGLang are tested with the managers of these releases too; whole engines run with the newest.
OLDER_SERVERS := vllm-0.32.0 vllm-0.31.0 sglang-0.5.22 sglang-0.5.21
FREE_THREADED_PYTHON ?= python3.14t
FREE_THREADED := .venv-freethreaded

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
VENV := .venv/.created
DEVELOPMENT := .venv/.development
# The extension as users get it, and as tests are run: each replaces the other.
PACKAGE := .venv/.package
TESTED := .venv/.tested
HOSTS := .venv/.hosts
PEERS := .venv/.peers
DOCUMENTATION := .venv/.documentation
BROWSER := .venv/.browser
BENCH ?=
RECORD ?=
# Execution counts of benches/training.py for profile-guided optimisation; `make profile` renews them.
PROFILE := crates/grammask-python/grammask.profdata.gz
COUNTS := target/profile/grammask.profdata
OPTIMISED := RUSTFLAGS="$(RUSTFLAGS) -Cprofile-use=$(CURDIR)/$(COUNTS) -Cllvm-args=-no-pgo-warn-mismatch"

# The oldest Rust release that builds the crates, stated in Cargo.toml.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
CARGO_DENY := target/tools/bin/cargo-deny

# The package for JavaScript: the engine in WebAssembly, its bindings and the bundled grammars.
WASM := target/wasm
PLAYGROUND := target/playground.html
PLAYGROUND_SOURCES := $(wildcard playground/*.* playground/examples/* playground/src/*.js playground/src/*/*.js \
	playground/texts/* examples/*.* testdata/languages/*)
WASM_SOURCES := $(wildcard crates/grammask-wasm/npm/* xtask/wasm/Cargo.* xtask/wasm/src/* python/grammask/grammars/definitions/*)

# Tests of other people's interfaces. Elsewhere the marker `hosts` has the tests that need torch, transformers or xgrammar.
HOST_FOLDERS := tests/compat tests/formatron tests/integrations
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile
# What a wheel is tested with where nothing else is installed; needs pytest and hypothesis.
CORE_TESTS := tests/conformance tests/kbnf tests/test_batches.py tests/test_import.py tests/test_matcher.py
# The same features of dependencies as the extension has, so that what is compiled for one is there for the other.
CARGO_TEST := $(CARGO) test --workspace --exclude grammask-wasm --quiet

.PHONY: help demo check test test-package test-hosts counts release-check wasm playground test-browser test-engines test-freethreaded test-peers bench record profile grammars figures lint msrv deny docs build clean

help: ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name purpose; do printf 'make %-18s %s\n' "$$name" "$$purpose"; done

demo: $(PACKAGE) ## builds the package and runs the demo
	$(BIN)/python examples/demo.py

check: $(TESTED) ## formatting, lints and tests of what changed, in minutes
	PATH="$(CURDIR)/$(BIN):$$PATH" CARGO="$(CARGO)" .ci/check

test: $(TESTED) lint ## all lints and tests of grammask itself
	$(CARGO_TEST)
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest grammask._grammask
	$(PYTEST) -m "not hosts" $(HOST_FOLDERS:%=--ignore=%) --ignore=tests/wasm

test-package: ## the core tests with PYTHON, where a wheel is installed
	$(PYTHON) -m pytest $(CORE_TESTS)

# Four gigabytes the first time: torch brings CUDA's libraries.
test-hosts: $(PACKAGE) $(HOSTS) ## tests that need torch, transformers or xgrammar, and those of compatible modules
	$(PYTEST) $(HOST_FOLDERS)
	$(PYTEST) -m hosts $(HOST_FOLDERS:%=--ignore=%) --ignore=tests/wasm

# Half an hour and 2.5 GB the first time; docs/integrations.md.
test-engines: $(ENGINES)/.created $(FORMATRON)/.created ## tests that need vLLM, SGLang, llama.cpp and others, on the CPU
	$(ENGINES)/bin/python -m pytest tests/integrations tests/compat/test_programs.py tests/server/test_openai_client.py tests/test_apply_mask.py
	for release in $(OLDER_SERVERS); do \
		PYTHONPATH=$(CURDIR)/$(ENGINES)/$$release $(ENGINES)/bin/python -m pytest \
			tests/integrations/servers/test_$${release%%-*}.py || exit 1; \
	done
	GRAMMASK_FORMATRON_TESTS=$(FORMATRON)/formatron-0.5.0/tests $(FORMATRON)/bin/python -m pytest tests/formatron

# Six minutes. The suites come from the source archives on the package index; tests/compat/peer_suites lists their failures.
test-peers: $(PACKAGE) $(HOSTS) ## the test suites of xgrammar, llguidance and lark
	PYTHONPATH=tests $(BIN)/python tests/compat/peer_suites/run.py llguidance
	PYTHONPATH=tests $(BIN)/python tests/compat/peer_suites/run.py xgrammar
	PYTHONPATH=tests $(BIN)/python tests/compat/peer_suites/lark_verdicts.py

# 15 minutes. Packages without a release for such an interpreter are not installed, and their tests skip.
test-freethreaded: $(FREE_THREADED)/.package ## the Python tests without a global interpreter lock
	$(FREE_THREADED)/bin/python -W error -c "import grammask, sys; assert not sys._is_gil_enabled()"
	for run in 1 2 3 4 5 6 7 8 9 10; do $(FREE_THREADED)/bin/python -m pytest -q tests/test_threads.py || exit 1; done
	$(FREE_THREADED)/bin/python -m pytest

# About an hour; BENCH=--quick takes some minutes. benches/README.md says what else can be chosen.
bench: $(PACKAGE) $(PEERS) ## the comparison with the peers, and growth
	$(BIN)/python benches/compare.py $(BENCH)
	$(BIN)/python benches/growth.py

# Hours; RECORD=--quick takes minutes, RECORD="--suite comparison" runs one suite. Overwrites benches/results and docs/performance.md.
record: $(PACKAGE) $(PEERS) ## all benchmarks; overwrites benches/results and docs/performance.md
	$(BIN)/python benches/record.py $(RECORD)

# An instrumented build, a run of it, and its counts. Needs the component llvm-tools of rustup.
profile: $(DEVELOPMENT) ## renews the counts for profile-guided optimisation
	rustup component add llvm-tools
	rm -rf target/profile/run target/profile/site
	RUSTFLAGS="$(RUSTFLAGS) -Cprofile-generate=$(CURDIR)/target/profile/build-scripts" CARGO_TARGET_DIR=$(CURDIR)/target/profile/build \
		$(PIP) install --quiet --no-build-isolation --no-deps --target target/profile/site .
	for part in common features; do \
		PYTHONPATH=target/profile/site LLVM_PROFILE_FILE=target/profile/run/$$part.profraw \
			$(BIN)/python benches/training.py $$part || exit 1; \
	done
	$$(rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata merge --sparse -o $(COUNTS) \
		-weighted-input=300,target/profile/run/common.profraw -weighted-input=1,target/profile/run/features.profraw
	gzip -9nc $(COUNTS) > $(PROFILE)

# One HTML file, which needs no server; `grammask serve` serves its second copy.
playground: $(PLAYGROUND) ## the playground, in target/playground.html

# Chromium comes from the package of Debian; without it the tests skip. CHROMIUM=PATH names another one.
test-browser: $(PLAYGROUND) $(BROWSER) ## the engine in WebAssembly and the playground in a real browser; screenshots in target/screenshots
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 \
		|| echo "apt-get cannot install chromium here"
	$(BIN)/python -m pytest tests/wasm tests/browser

wasm: $(WASM)/engine_bg.wasm ## the package for JavaScript, in target/wasm

grammars: $(PACKAGE) ## the stored definitions of the bundled grammars, after a change of one
	$(BIN)/python -m grammask.lark_grammars.write_definitions

lint: $(DEVELOPMENT) ## formatting and lints only
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	PYTHONPATH=python $(BIN)/lint-imports --no-cache

# Skipped where rustup cannot install the release. Clippy checks the standard library's items against it in any case.
msrv: ## checks the crates with the oldest supported Rust
	@if rustup toolchain install $(MSRV) --profile minimal >/dev/null 2>&1; then \
		CARGO_TARGET_DIR=target/msrv $(CARGO) +$(MSRV) check --workspace --quiet; \
	else \
		echo "skipped: rustup cannot install Rust $(MSRV)"; \
	fi

# The advisories are read from the RustSec database on GitHub; ADVISORIES= leaves them out.
ADVISORIES ?= advisories
deny: $(CARGO_DENY) ## licences, sources and advisories of the dependencies
	PATH="$(CURDIR)/target/tools/bin:$$PATH" $(CARGO) deny check licenses bans sources $(ADVISORIES)

figures: $(PACKAGE) ## the figures of docs/inspecting.md
	$(BIN)/grammask draw examples/grammars/json.kbnf --rule value --rule object -o docs/pictures/railroad.svg
	$(BIN)/grammask draw examples/grammars/json.kbnf --automaton number -o docs/pictures/automaton.svg

# The site goes to target/site, the API documentation of the crates to target/doc.
docs: $(PACKAGE) $(DOCUMENTATION) $(PLAYGROUND) ## the documentation site and the API documentation of the crates
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

build: $(DEVELOPMENT) $(COUNTS) $(PLAYGROUND) ## a wheel, in dist/
	$(OPTIMISED) $(BIN)/python -m maturin build --release --strip --out dist

release-check: $(DEVELOPMENT) $(PLAYGROUND) ## what must hold before a version is tagged; writes the archives to dist/
	rm -rf dist
	$(BIN)/python -m maturin sdist --out dist
	$(OPTIMISED) $(BIN)/python -m maturin build --quiet --release --out dist
	$(BIN)/python xtask/release_check.py dist

counts: $(COUNTS) ## decompresses the counts for profile-guided optimisation

clean: ## removes everything that was built or installed
	rm -rf .venv .venv-engines .venv-freethreaded dist target

$(CARGO_DENY):
	$(CARGO) install cargo-deny --locked --quiet --root target/tools

$(WASM)/engine_bg.wasm: $(RUST_SOURCES) $(WASM_SOURCES)
	@rustc --print target-libdir --target wasm32-unknown-unknown | xargs test -d || rustup target add wasm32-unknown-unknown
	$(CARGO) build --quiet --profile wasm-release --package grammask-wasm --target wasm32-unknown-unknown
	rm -rf $(WASM)
	mkdir -p $(WASM)/grammars
	cp crates/grammask-wasm/npm/* LICENSE-* $(WASM)
	cp python/grammask/grammars/definitions/*.json $(WASM)/grammars
	CARGO_TARGET_DIR=target/xtask-wasm $(CARGO) run --quiet --manifest-path xtask/wasm/Cargo.toml -- \
		target/wasm32-unknown-unknown/wasm-release/grammask_wasm.wasm $(WASM)

$(PLAYGROUND): $(WASM)/engine_bg.wasm $(PLAYGROUND_SOURCES) | $(PACKAGE)
	$(BIN)/python playground/build.py $(WASM) $@ python/grammask/server/playground.html

$(VENV):
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet --upgrade "pip>=25.1" "maturin>=1.8,<2"
	touch $@

$(COUNTS): $(PROFILE)
	mkdir -p $(@D)
	gzip -dc $< > $@

$(DEVELOPMENT): $(VENV) pyproject.toml
	$(PIP) install --quiet --group dev
	touch $@

$(DOCUMENTATION): $(VENV) pyproject.toml
	$(PIP) install --quiet --group docs
	touch $@

$(BROWSER): $(DEVELOPMENT)
	$(PIP) install --quiet --group browser
	touch $@

$(PEERS): $(VENV) pyproject.toml
	$(PIP) install --quiet --group bench
	touch $@

# An editable install: a change of a Python file needs no new one.
$(PACKAGE): $(VENV) pyproject.toml $(RUST_SOURCES) $(COUNTS)
	$(OPTIMISED) $(PIP) install --quiet --no-build-isolation --editable .
	rm -f $(TESTED)
	touch $@

# Without link-time optimisation, with the artefacts that `cargo test` uses and with its checks of overflows.
$(TESTED): $(DEVELOPMENT) $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --quiet --profile dev
	rm -f $(PACKAGE)
	touch $@

$(HOSTS): $(DEVELOPMENT)
	$(PIP) install --quiet --group hosts
	touch $@

$(FREE_THREADED)/.created: pyproject.toml
	@$(FREE_THREADED_PYTHON) -c "import sys; sys.exit(sys._is_gil_enabled())" 2>/dev/null || { \
		echo "$(FREE_THREADED_PYTHON) is no free-threaded Python that runs here: name one, FREE_THREADED_PYTHON=..." >&2; exit 1; }
	$(FREE_THREADED_PYTHON) -m venv $(FREE_THREADED)
	$(FREE_THREADED)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(FREE_THREADED)/bin/python -m pip install --quiet --prefer-binary --group freethreaded
	touch $@

$(FREE_THREADED)/.package: $(FREE_THREADED)/.created $(RUST_SOURCES)
	$(FREE_THREADED)/bin/python -m pip install --quiet --prefer-binary --no-build-isolation --editable .
	touch $@

# These environments see the packages of .venv, so torch is installed once. llama.cpp is compiled for no particular
# processor: a virtual machine can report AMX instructions that the system does not permit, which end the process.
$(ENGINES)/.created: $(PACKAGE) $(HOSTS) pyproject.toml
	$(call environment_beside,$(ENGINES))
	CMAKE_ARGS=-DGGML_NATIVE=OFF $(ENGINES)/bin/python -m pip install --quiet --no-cache-dir --group engines
	$(ENGINES)/bin/python -m pip install --quiet --no-deps --group engines-alone
	for release in $(OLDER_SERVERS); do \
		$(ENGINES)/bin/python -m pip install --quiet --no-deps --target $(ENGINES)/$$release $${release%-*}==$${release#*-} || exit 1; \
	done
	touch $@

$(FORMATRON)/.created: $(PACKAGE) $(HOSTS) pyproject.toml
	$(call environment_beside,$(FORMATRON))
	$(FORMATRON)/bin/python -m pip install --quiet --group formatron
	$(FORMATRON)/bin/python -m pip install --quiet --no-deps --group formatron-alone
	$(FORMATRON)/bin/python -m pip download --quiet --no-deps --no-binary formatron --dest $(FORMATRON) formatron==0.5.0
	tar -xzf $(FORMATRON)/formatron-0.5.0.tar.gz -C $(FORMATRON)
	touch $@

define environment_beside
$(BIN)/python -m venv $(1)
$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(%r)' % sysconfig.get_path('purelib'))" \
	> "$$($(1)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/development.pth"
$(1)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
endef
