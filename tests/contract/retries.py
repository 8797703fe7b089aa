"""The generated tables of docs/reference/retries.md: who tries again, waits how long, falls back.

They are read from the settings of the providers and from the definitions of the tools.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import repository
from references import FOLDER, Section

PAGE = FOLDER / "retries.md"
TIMERS = (
    "max_retries",
    "connect_timeout_s",
    "header_timeout_s",
    "idle_timeout_s",
    "progress_timeout_s",
    "total_timeout_s",
)


def sections() -> list[Section]:
    """Return the tables as they have to be."""
    return [
        Section(PAGE, "providers", "\n".join(_provider_lines())),
        Section(PAGE, "tools", "\n".join(_tool_lines())),
    ]


def providers() -> dict[str, type | None]:
    """Return the settings class of each provider's plugin; None where it has none."""
    classes: dict[str, type | None] = {}
    for name, module_name in repository.entry_points().items():
        module = importlib.import_module(module_name)
        if hasattr(module, "nanocoder_providers"):
            settings = getattr(module, "nanocoder_settings", None)
            classes[name] = settings() if settings else None
    return classes


def tools() -> Sequence[Mapping[str, Any]]:
    """Return our tools as `nanocoder tools` prints them, for a person without a configuration."""
    ours = repository.entry_points().keys()
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "nanocoder", "tools", "--output", "json"],
            cwd=home,
            env={"HOME": home, "PATH": os.environ["PATH"]},
            capture_output=True,
            check=True,
        )
    return [tool for tool in json.loads(done.stdout) if tool["plugin"] in ours]


def _provider_lines() -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for plugin, settings in providers().items():
        fields = attrs.fields_dict(settings) if settings else {}
        values = [f"`{name}` {fields[name].default}" for name in TIMERS if name in fields]
        alike.setdefault(", ".join(values) or "none", []).append(f"`{plugin}`")
    for values_of_all, plugins in alike.items():
        yield f"- {', '.join(plugins)}: {values_of_all}"


def _tool_lines() -> Iterator[str]:
    alike: dict[tuple[str, bool], list[str]] = {}
    for tool in tools():
        is_harmless = "idempotent" in tool["effects"]
        alike.setdefault((_limit(tool), is_harmless), []).append(f"`{tool['name']}`")
    for (limit, is_harmless), names in sorted(alike.items()):
        repeated = "may be repeated without harm" if is_harmless else "not to be repeated"
        yield f"- {limit}, {repeated}: {', '.join(names)}"


def _limit(tool: Mapping[str, Any]) -> str:
    asked = tool["parameters"]["properties"].get("timeout", {})
    if "default" in asked:
        most = f", at most {asked['maximum']:g}" if "maximum" in asked else ""
        return f"`timeout` of the call: {asked['default']:g}{most}"
    return "`call_timeout_s`" if tool["timeout_s"] is None else f"{tool['timeout_s'] or 'its own'}"
