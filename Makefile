# What people and CI run. Everything is installed into .venv; what has not changed is not done again.

PYTHON ?= python3
CARGO ?= cargo
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
ENGINES := .venv-engines/all
FORMATRON := .venv-engines/formatron
FREE_THREADED_PYTHON ?= python3.14t
FREE_THREADED := .venv-freethreaded

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
VENV := .venv/.created
DEVELOPMENT := .venv/.development
PACKAGE := .venv/.package
PEERS := .venv/.peers
DOCUMENTATION := .venv/.documentation
BENCH ?=
RECORD ?=
# What the optimiser knows of real work: counts of a run of benches/training.py. `make profile` makes them anew.
PROFILE := crates/grammask-python/grammask.profdata.gz
COUNTS := target/profile/grammask.profdata
OPTIMISED := RUSTFLAGS="$(RUSTFLAGS) -Cprofile-use=$(CURDIR)/$(COUNTS) -Cllvm-args=-no-pgo-warn-mismatch"

.PHONY: demo test test-engines test-freethreaded bench record profile lint docs build clean

demo: $(PACKAGE)
	$(BIN)/python examples/demo.py

test: $(PACKAGE) lint
	$(CARGO) test --workspace --quiet
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest grammask._grammask
	$(BIN)/python -m pytest

# Half an hour and 2.5 GB the first time: what `make test` skips because a tool is not installed. docs/integrations.md.
test-engines: $(ENGINES)/.created $(FORMATRON)/.created
	$(ENGINES)/bin/python -m pytest tests/integrations tests/compat/test_programs.py tests/server/test_openai_client.py tests/test_apply_mask.py
	GRAMMASK_FORMATRON_TESTS=$(FORMATRON)/formatron-0.5.0/tests $(FORMATRON)/bin/python -m pytest tests/formatron

# A quarter of an hour. Packages that have nothing for such an interpreter are left out, and their tests skip.
test-freethreaded: $(FREE_THREADED)/.package
	$(FREE_THREADED)/bin/python -W error -c "import grammask, sys; assert not sys._is_gil_enabled()"
	for run in 1 2 3 4 5 6 7 8 9 10; do $(FREE_THREADED)/bin/python -m pytest -q tests/test_threads.py || exit 1; done
	$(FREE_THREADED)/bin/python -m pytest

# About an hour; BENCH=--quick takes some minutes. benches/README.md says what else can be chosen.
bench: $(PACKAGE) $(PEERS)
	$(BIN)/python benches/compare.py $(BENCH)
	$(BIN)/python benches/growth.py

# Hours; RECORD=--quick takes minutes, RECORD="--suite comparison" runs one suite. Overwrites benches/results and docs/performance.md.
record: $(PACKAGE) $(PEERS)
	$(BIN)/python benches/record.py $(RECORD)

# A build that counts, a run of it, and what it counted. Needs the component llvm-tools of rustup.
profile: $(DEVELOPMENT)
	rustup component add llvm-tools
	rm -rf target/profile/run target/profile/site
	RUSTFLAGS="$(RUSTFLAGS) -Cprofile-generate=$(CURDIR)/target/profile/build-scripts" CARGO_TARGET_DIR=$(CURDIR)/target/profile/build \
		$(PIP) install --quiet --no-build-isolation --no-deps --target target/profile/site .
	PYTHONPATH=target/profile/site LLVM_PROFILE_FILE=target/profile/run/%p.profraw $(BIN)/python benches/training.py
	$$(rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata merge -o $(COUNTS) target/profile/run
	gzip -9nc $(COUNTS) > $(PROFILE)

lint: $(DEVELOPMENT)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	PYTHONPATH=python $(BIN)/lint-imports --no-cache

# The site goes to target/site, the crate's pages to target/doc.
docs: $(PACKAGE) $(DOCUMENTATION)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

build: $(DEVELOPMENT) $(COUNTS)
	$(OPTIMISED) $(BIN)/python -m maturin build --release --strip --out dist

clean:
	rm -rf .venv .venv-engines .venv-freethreaded dist target

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

$(PEERS): $(VENV) pyproject.toml
	$(PIP) install --quiet --group bench
	touch $@

# An editable install: a change of a Python file needs no new one.
$(PACKAGE): $(VENV) pyproject.toml $(RUST_SOURCES) $(COUNTS)
	$(OPTIMISED) $(PIP) install --quiet --no-build-isolation --editable .
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

# These environments see what .venv has, so torch is there once.
$(ENGINES)/.created: $(PACKAGE) $(DEVELOPMENT) pyproject.toml
	$(call environment_beside,$(ENGINES))
	$(ENGINES)/bin/python -m pip install --quiet --group engines
	$(ENGINES)/bin/python -m pip install --quiet --no-deps --group engines-alone
	touch $@

$(FORMATRON)/.created: $(PACKAGE) $(DEVELOPMENT) pyproject.toml
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
