"""The contract suite: tests that every plugin has to pass.

A plugin's `tests/test_contract.py` is one line:

    from nanocoder_testing.contract import *

It tests the plugin of the project around it. A fixture `contract_workspace` of your own, defined
below that line, creates the files for your examples; a fixture `contract_provider` returns your
provider, connected to a server of your own, and lets the suite check its stream.
"""

from pathlib import Path

import pytest
from attrs import fields
from nanocoder import structure
from nanocoder_schema import problem_of

from nanocoder_testing.contract_calls import (
    contract_field,
    test_arguments_that_were_made_up_become_results,
    test_bad_arguments_become_results,
)
from nanocoder_testing.contract_hooks import (
    test_a_policy_answers_for_every_tool_in_every_mode,
    test_a_policy_says_why,
    test_a_provider_says_what_it_is,
    test_a_provider_streams_as_it_has_to,
    test_a_provider_that_cannot_be_opened_says_so,
    test_a_rendering_is_text,
    test_a_request_stays_a_request,
    test_a_result_stays_a_result,
    test_a_screen_shows_every_event,
    test_additions_to_the_prompt_are_text,
)
from nanocoder_testing.contract_marks import NAME, contract_workspace, fail_for, needs
from nanocoder_testing.contract_stores import test_a_store_keeps_what_was_said
from nanocoder_testing.contract_tools import (
    test_a_cancelled_call_ends_at_once,
    test_a_model_understands_the_definition,
    test_a_safe_tool_leaves_the_workspace_as_it_was,
    test_the_definition_is_affordable,
    test_the_examples_fit_the_schema,
    test_the_examples_work,
    test_the_schema_is_closed,
    test_what_a_tool_does_is_declared,
)
from nanocoder_testing.subject import Subject, loaded_by

__all__ = [
    "contract_field",
    "contract_workspace",
    "test_a_cancelled_call_ends_at_once",
    "test_a_model_understands_the_definition",
    "test_a_policy_answers_for_every_tool_in_every_mode",
    "test_a_policy_says_why",
    "test_a_provider_says_what_it_is",
    "test_a_provider_streams_as_it_has_to",
    "test_a_provider_that_cannot_be_opened_says_so",
    "test_a_rendering_is_text",
    "test_a_request_stays_a_request",
    "test_a_result_stays_a_result",
    "test_a_safe_tool_leaves_the_workspace_as_it_was",
    "test_a_screen_shows_every_event",
    "test_a_store_keeps_what_was_said",
    "test_additions_to_the_prompt_are_text",
    "test_arguments_that_were_made_up_become_results",
    "test_bad_arguments_become_results",
    "test_every_setting_has_a_default_and_is_explained",
    "test_importing_it_loads_nothing_slow",
    "test_it_loads",
    "test_its_name_is_one_to_type",
    "test_its_readme_names_what_it_offers",
    "test_the_definition_is_affordable",
    "test_the_examples_fit_the_schema",
    "test_the_examples_work",
    "test_the_schema_is_closed",
    "test_what_a_tool_does_is_declared",
]

SLOW = (
    "asyncio",
    "cattrs",
    "httpx",
    "importlib.metadata",
    "importlib_metadata",
    "prompt_toolkit",
    "rich",
)


def test_it_loads(subject: Subject) -> None:
    """Import it and register its hooks: known names, known arguments, plain functions."""
    try:
        description = subject.description
    except BaseException as error:  # noqa: BLE001 - sys.exit in a plugin is a failure, too
        pytest.fail(f"{subject.name} does not load: {problem_of(error)}", pytrace=False)
    fail_for(
        [] if description["hooks"] else ["it implements no hook; mark functions with @hookimpl"]
    )


def test_its_name_is_one_to_type(subject: Subject) -> None:
    """Let people write the name in a configuration file and on a command line."""
    fits = NAME.fullmatch(subject.name)
    fail_for([] if fits else [f"{subject.name!r}: use lower-case words with dashes between them"])


def test_importing_it_loads_nothing_slow(subject: Subject) -> None:
    """Keep the start fast: import modules that take tens of milliseconds at their first use."""
    fail_for(
        f"importing {subject.module_name} loads {name}; import it inside the function that needs it"
        for name in loaded_by(subject.module_name, SLOW)
    )


@needs(lambda subject, _: subject.implements("nanocoder_settings"))
def test_every_setting_has_a_default_and_is_explained(subject: Subject) -> None:
    """Let a person set any single key, and read its purpose."""
    cls = subject.implementation("nanocoder_settings").function()
    structure(cls, {})
    fail_for(
        f"{cls.__name__}.{field.name}: say what it is, in the docstring of {cls.__name__} or as"
        " metadata={'description': …}"
        for field in fields(cls)
        if field.name not in (cls.__doc__ or "") and not field.metadata.get("description")
    )


@needs(lambda subject, _: subject.folder is not None)
def test_its_readme_names_what_it_offers(subject: Subject) -> None:
    """Name all offers in the README, so that people know what they install."""
    path = (subject.folder or Path()) / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    problems = [] if text.startswith("# ") else [f"{path}: begin it with a heading"]
    offered = [name for what in ("tools", "providers", "commands") for name in subject.offers(what)]
    problems += [f"{path}: say what {name!r} is for" for name in offered if name not in text]
    fail_for(problems)
