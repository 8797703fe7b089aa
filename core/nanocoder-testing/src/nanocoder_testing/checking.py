"""The contract suite on an installed plugin, as `nanocoder plugins check` runs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from tempfile import TemporaryDirectory


def check(plugin: str = "") -> int:
    """Run the contract suite on one plugin, or on all installed ones; return pytest's exit code.

    *plugin* is the name of an entry point, such as `tool-grep`. The suite leaves no file in the
    current directory.
    """
    import pytest

    from nanocoder_testing import contract

    only = [f"--nanocoder-plugin={plugin}"] if plugin else []
    # pytest warns that the suite was imported before its start, which is intended here.
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with TemporaryDirectory(prefix="nanocoder-check-") as folder, _hypothesis_in(folder):
        return int(pytest.main([*quiet, *only, str(contract.__file__)]))


@contextmanager
def _hypothesis_in(folder: str) -> Iterator[None]:
    """Let hypothesis, where it is installed, keep its files in *folder*."""
    if find_spec("hypothesis") is None:
        yield
        return
    from hypothesis.configuration import set_hypothesis_home_dir

    set_hypothesis_home_dir(folder)
    yield
    set_hypothesis_home_dir(None)
