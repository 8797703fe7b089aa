"""Default models that are behind the table: the newest model of each one's family."""

import json
import re
from importlib.metadata import entry_points
from pathlib import Path

TABLES = Path(__file__).parents[2] / "src/nanocoder_kit_llm/models/vendors"
# A version is one or two short numbers; a longer one is a date, or a size.
VERSION = re.compile(r"(?<![\w.])v?(\d{1,2})(?:([.-])(\d{1,2}))?(?![\w.]|-\d)")
LINES = {"openai": "gpt", "google": "gemini", "anthropic": "claude", "x-ai": "grok"}
"""The general models of a vendor, whose names may begin a new line in a new generation."""


def tables():
    """Return each vendor's table."""
    files = sorted(TABLES.glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def names_of(vendor, tables):
    """Return all names of a vendor's models but those on trial, and those with a date."""
    names = {name for row in tables[vendor]["models"] for name in row["names"]}
    return {name for name in names if not re.search(r"preview|beta|:|\d{4}|-35-", name)}


def family_and_version(name):
    """Return the name without its version, and the version; () for a name without one."""
    match = VERSION.search(name)
    if match is None:
        return name, ()
    major, sign, minor = match.groups()
    # Behind a point stands a fraction, so 4.20 is older than 4.3.
    version = float(f"{major}.{minor or 0}") if sign != "-" else int(major) + int(minor) / 100
    return f"{name[: match.start()]}*{name[match.end() :]}", (version,)


def newest(vendor, name, tables):
    """Return the newest model of the family of *name*."""
    family, version = family_and_version(name)
    if not version:
        return name
    relatives = {
        family_and_version(other)[1]: other
        for other in sorted(names_of(vendor, tables))
        if family_and_version(other)[0] == family
    }
    return relatives[max(relatives)] if relatives else name


def newer_generation(vendor, name, tables):
    """Return the vendor's general models of a later generation than *name*."""
    line, (_, version) = LINES.get(vendor), family_and_version(name)
    if line is None or not version:
        return []
    others = [other for other in names_of(vendor, tables) if re.match(rf"{line}-", other)]
    versions = {other: family_and_version(other)[1] for other in others}
    return sorted(
        other for other, found in versions.items() if found and int(found[0]) > int(version[0])
    )


def vendors_of(name, tables):
    """Return the vendors that sell *name*."""
    return [vendor for vendor in tables if name in names_of(vendor, tables)]


def defaults():
    """Return the default model of each provider that is installed."""
    models = {}
    for entry_point in entry_points(group="nanocoder"):
        if entry_point.name.startswith("provider-"):
            specs = getattr(entry_point.load(), "nanocoder_providers", list)()
            models |= {spec.name: spec.default_model for spec in specs if spec.default_model}
    return models


def proposals():
    """Return a line for each default that is behind the table."""
    vendors, lines = tables(), []
    for provider, model in sorted(defaults().items()):
        for vendor in vendors_of(model, vendors):
            if (best := newest(vendor, model, vendors)) != model:
                lines.append(f"{provider}: the default {model} should be {best}")
            elif later := newer_generation(vendor, model, vendors):
                lines.append(f"{provider}: the default {model} is behind {', '.join(later)}")
    return lines
