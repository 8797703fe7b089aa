"""The contract suite on an installed plugin, as `nanocoder plugins check` runs it."""


def check(plugin: str = "") -> int:
    """Run the contract suite on one plugin, or on all installed ones; return pytest's exit code.

    *plugin* is the name of an entry point, such as `tool-grep`.
    """
    import pytest

    from nanocoder_testing import contract

    only = [f"--nanocoder-plugin={plugin}"] if plugin else []
    # pytest warns that the suite was imported before its start, which is intended here.
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*quiet, *only, str(contract.__file__)]))
