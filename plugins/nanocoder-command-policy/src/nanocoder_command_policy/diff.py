"""`nanocoder policy diff OLD [NEW]`: changes of verdicts by another configuration."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder import Config, Host, UsageError, read_user_file
from nanocoder_kit_files.table import print_table

from nanocoder_command_policy.differences import (
    LOOSER,
    OTHER,
    STRICTER,
    Difference,
    changed_settings,
    counted,
    print_differences,
)
from nanocoder_command_policy.judging import Ruled, judging
from nanocoder_command_policy.stored_calls import calls_of_all_sessions
from nanocoder_command_policy.typical_calls import MODES, typical_calls

# The direction that may let something through comes first.
_TITLES: Final = {
    LOOSER: "Looser now",
    STRICTER: "Stricter now",
    OTHER: "Decided as before, but with other arguments, another sandbox or more persons",
}
_OTHER_CALLS: Final = (
    "\nStored and typical calls were judged. Judge one of your own: `nanocoder policy explain`."
)


def run(arguments: Namespace, host: Host) -> int:
    """Print the settings and the verdicts that differ; return 1 when any does."""
    old = _config(arguments.old)
    new = host.config if arguments.new is None else _config(arguments.new)
    classes = host.settings_classes()
    settings = list(changed_settings(_values(old, classes), _values(new, classes)))
    calls = [(stored.call, stored.mode) for stored in calls_of_all_sessions(host)]
    for mode in MODES:
        calls += typical_calls(host.plugins.tools(), mode)
    verdicts = [_verdicts(host, config, calls) for config in (old, new)]
    differences = counted(
        Difference(call, mode, before.decision, after.decision, after.why)
        for (call, mode), before, after in zip(calls, *verdicts, strict=True)
        if _outcome(before) != _outcome(after)
    )
    if arguments.output == "json":
        rows = [{"key": key, "old": before, "new": after} for key, before, after in settings]
        verdict_rows = [it.data() for it in differences]
        host.print_json({"settings": rows, "calls": len(calls), "verdicts": verdict_rows})
    else:
        _print(host, settings, differences, len(calls))
    return 1 if settings or differences else 0


def _config(name: str) -> Config:
    document = read_user_file(Path(name))
    if document is None:
        raise UsageError(f"there is no file {name}")
    return Config.of_user(document)


def _values(config: Config, classes: Mapping[str, type]) -> dict[str, Any]:
    return {key: value for key, value, _ in config.items(classes)}


def _verdicts(host: Host, config: Config, calls: list[Any]) -> list[Ruled]:
    with judging(host, config) as judge:
        return judge.all(calls)


def _outcome(ruled: Ruled) -> tuple[object, ...]:
    verdict = ruled.verdict
    return ruled.decision, verdict.access, max(1, verdict.persons), dict(ruled.call.arguments)


def _print(
    host: Host, settings: list[tuple[str, str, str]], differences: list[Difference], calls: int
) -> None:
    same = calls - sum(it.times for it in differences)
    host.print_line(f"{len(settings)} settings differ; {same} of {calls} calls are judged the same")
    if settings:
        host.print_line("")
        print_table(("setting", "old", "new"), settings)
    for kind, title in _TITLES.items():
        of_kind = [it for it in differences if it.kind == kind]
        if of_kind:
            host.print_line(f"\n{title}: {sum(it.times for it in of_kind)} calls")
            print_differences(of_kind, several_modes=True)
    if settings:
        host.print_line(_OTHER_CALLS)
