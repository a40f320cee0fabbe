"""Fixtures for all tests: real data that lies beside the checkout, and Hypothesis without deadlines."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline measures the machine; the time of masks is measured under benches/.
settings.register_profile("short", deadline=None)
settings.load_profile("short")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="Record output and grammars anew, instead of comparing them."
    )


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Return the folder with real vocabularies and schemas; skips the test where there is none."""
    beside = Path(__file__).parents[1].parent / "shared" / "data"
    directory = Path(os.environ.get("GRAMMASK_DATA", beside))
    if not directory.is_dir():
        pytest.skip("no real data: ../shared/data is absent and GRAMMASK_DATA names no folder")
    return directory
