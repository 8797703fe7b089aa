"""The tool ask_user: a question to the person, with choices and a time limit."""

import time
from typing import Annotated, Any

from nanocoder import (
    Effect,
    Param,
    Question,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)

DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 300.0
MAX_CHOICES = 10
MAX_CHOICE_CHARS = 200
MAX_QUESTION_CHARS = 2_000


@tool(
    risk="safe",
    effects={Effect.READ},
    # The executor sets no limit: the question has one of its own.
    timeout_s=0,
    needs=("person",),
    examples=[{"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}],
)
def ask_user(
    ctx: ToolContext,
    question: Annotated[str, "Text; one question."],
    choices: Annotated[tuple[str, ...], "Answers; to choose from."] = (),
    *,
    custom: Annotated[bool, "Allow others; in their own words."] = True,
    timeout: Annotated[
        float, Param("Seconds; they have to answer.", gt=0, le=MAX_TIMEOUT_S)
    ] = DEFAULT_TIMEOUT_S,
) -> ToolResult:
    """Ask the user what only they can decide; returns the answer.

    Do not ask for permission: a call that needs it asks by itself.
    """
    offered = _clean_choices(choices)
    problem = _find_problem(question, offered, custom=custom)
    if problem:
        raise ToolError(problem, error_class="invalid_arguments")
    started = time.monotonic()
    answer = ctx.ask(Question(question, offered, custom, timeout))
    ctx.cancelled.check()
    seconds = time.monotonic() - started
    if answer is None:
        raise _no_answer_error(ctx, seconds, timeout)
    chosen = _match_choice(answer, offered, custom=custom)
    data = {"answer": chosen, "is_choice": chosen in offered}
    metadata = {"seconds": round(seconds, 1), "summary": chosen[:MAX_CHOICE_CHARS]}
    return ToolResult(chosen, title=question[:80], data=data, metadata=metadata)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer ask_user."""
    return [ask_user]


def _find_problem(question: str, offered: tuple[str, ...], *, custom: bool) -> str:
    """Return the problem of an unanswerable question, or ""."""
    if not question.strip():
        return "the question is empty"
    if len(question) > MAX_QUESTION_CHARS:
        return f"the question is longer than {MAX_QUESTION_CHARS:,} characters; make it short"
    if len(offered) > MAX_CHOICES:
        return f"there are {len(offered)} choices; give at most {MAX_CHOICES}"
    if any(len(choice) > MAX_CHOICE_CHARS for choice in offered):
        return f"a choice is longer than {MAX_CHOICE_CHARS} characters; explain it in the question"
    if not (custom or offered):
        return "without choices there is no answer but a custom one; give choices or custom=true"
    return ""


def _clean_choices(choices: tuple[str, ...]) -> tuple[str, ...]:
    cleaned = (" ".join(choice.split()) for choice in choices)
    return tuple(dict.fromkeys(choice for choice in cleaned if choice))


def _match_choice(answer: str, offered: tuple[str, ...], *, custom: bool) -> str:
    """Return the choice that *answer* names in any case, or else the answer itself."""
    text = answer.strip()
    for choice in offered:
        if choice.casefold() == text.casefold():
            return choice
    if text and custom:
        return text
    raise ToolError(
        f"the answer {text!r} is not one of the choices" if text else "the answer is empty",
        error_class="no_answer",
    )


def _no_answer_error(ctx: ToolContext, seconds: float, timeout: float) -> ToolError:
    is_there = ctx.session is not None and ctx.session.interactive
    if seconds >= timeout:
        return ToolError(
            f"no answer within {timeout:g} s; decide yourself and say what you assumed",
            error_class="timeout",
        )
    if is_there:
        return ToolError(
            "the person gave no answer; decide yourself and say what you assumed",
            error_class="no_answer",
        )
    return ToolError(
        "no person can be asked; decide yourself and say what you assumed",
        error_class="nobody_to_ask",
    )
