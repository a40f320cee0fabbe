# What people and CI run. Everything is installed into .venv; what has not changed is not done again.

PYTHON ?= python3
CARGO ?= cargo
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
VENV := .venv/.created
DEVELOPMENT := .venv/.development
PACKAGE := .venv/.package
PEERS := .venv/.peers
DOCUMENTATION := .venv/.documentation
BENCH ?=

.PHONY: demo test bench lint docs build clean

demo: $(PACKAGE)
	$(BIN)/python examples/demo.py

test: $(PACKAGE) lint
	$(CARGO) test --workspace --quiet
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest grammask._grammask
	$(BIN)/python -m pytest

# About an hour; BENCH=--quick takes some minutes. benches/README.md says what else can be chosen.
bench: $(PACKAGE) $(PEERS)
	$(BIN)/python benches/compare.py $(BENCH)
	$(BIN)/python benches/growth.py

lint: $(DEVELOPMENT)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check

# The site goes to target/site, the crate's pages to target/doc.
docs: $(PACKAGE) $(DOCUMENTATION)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

build: $(DEVELOPMENT)
	$(BIN)/python -m maturin build --release --strip --out dist

clean:
	rm -rf .venv dist target

$(VENV):
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet --upgrade "pip>=25.1" "maturin>=1.8,<2"
	touch $@

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
$(PACKAGE): $(VENV) pyproject.toml $(RUST_SOURCES)
	$(PIP) install --quiet --no-build-isolation --editable .
	touch $@
