"""Sub-agents that work at the same time, each on a thread of its own."""

import threading
from collections.abc import Sequence
from typing import Annotated

from attrs import frozen
from nanocoder import NanocoderError, ToolContext

from nanocoder_tool_task.agent import Outcome, work_on
from nanocoder_tool_task.profiles import Profile


@frozen
class Assignment:
    """One task."""

    description: Annotated[str, "In 3 to 5 words."]
    prompt: Annotated[str, "All it needs to know."]


def run_together(ctx: ToolContext, wanted: Sequence[Assignment], profile: Profile) -> list[Outcome]:
    """Return what each sub-agent came to, in order; one that fails stops no other."""
    outcomes: dict[int, Outcome] = {}
    broken: list[BaseException] = []

    def work(index: int) -> None:
        try:
            outcomes[index] = _outcome(ctx, wanted[index], profile)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            broken.append(error)

    places = range(len(wanted))
    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return [outcomes[index] for index in places]


def _outcome(ctx: ToolContext, one: Assignment, profile: Profile) -> Outcome:
    try:
        return work_on(ctx, one.description, one.prompt, profile)
    except NanocoderError as error:
        return Outcome(one.description, error_class=error.error_class, problem=str(error))
