"""What is written about the hooks and the plugins is what the code says."""

import ast

import pages
import pytest
import repository

MOST_WORDS = 90_000
"""A reader has to get through them, so a new page takes the place of old words."""
HOOKS = pytest.mark.parametrize("hook", pages.hooks(), ids=lambda hook: hook.name)


@HOOKS
def test_a_hook_says_when_it_is_called_who_wins_and_what_a_failure_means(hook):
    parts = pages.sections(hook)
    assert list(parts) == ["", *pages.HEADINGS]
    assert [word for word, text in parts.items() if not text] == []


@HOOKS
def test_a_hooks_example_is_python(hook):
    assert ast.parse(pages.example(hook).strip("`").removeprefix("python"))


@HOOKS
def test_no_argument_of_a_hook_has_a_default(hook):
    assert not hook.args.defaults
    assert not hook.args.kw_defaults


@HOOKS
def test_a_hook_is_a_heading_of_the_reference_with_its_exact_signature(hook):
    lines = pages.HOOKS_PAGE.read_text(encoding="utf-8").splitlines()
    assert f"## `{pages.signature(hook)}`" in lines


def test_the_reference_of_the_hooks_is_what_the_specifications_say():
    page = pages.HOOKS_PAGE.read_text(encoding="utf-8")
    assert page == pages.hooks_page(), "write it with `nox -s reference`"


def test_a_page_lists_every_plugin():
    page = pages.PLUGINS_PAGE.read_text(encoding="utf-8")
    assert page == pages.plugins_page(), "write the table with `nox -s table`"


def test_the_core_knows_every_package_and_what_it_offers():
    listed = pages.PACKAGES_LIST.read_text(encoding="utf-8")
    assert listed == pages.packages_list(), "write it with `nox -s table`"


def test_the_pages_together_do_not_grow():
    found = (path for path in repository.tracked() if path.suffix == ".md")
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in found}
    longest = [repository.shown(path) for path in sorted(words, key=words.__getitem__)[-5:]]
    assert sum(words.values()) <= MOST_WORDS, f"say it shorter; the longest: {longest}"
