"""`nanocoder audit sbom`: the loaded packages as a CycloneDX bill of materials."""

import base64
import binascii
import csv
import json
import re
import uuid
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message
from hashlib import sha256
from importlib import metadata
from typing import Any, Final
from urllib.parse import quote

from nanocoder import Host, __version__

SPEC_VERSION: Final = "1.6"
CORE: Final = "nanocoder-core"
EXTRA_MARKER: Final = re.compile(r"\bextra\s*==")
REQUIREMENT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HOME_LABELS: Final = frozenset({"homepage", "source", "repository", "source code"})


def print_sbom(arguments: Namespace, host: Host) -> int:  # noqa: ARG001 - as commands are called
    """Print the distributions of all plugins in use and their dependencies as one document."""
    host.print_json(bill_of_materials(plugins_of(host)))
    return 0


def plugins_of(host: Host) -> dict[str, list[str]]:
    """Return the names of the plugins that are in use, by the name of their distribution."""
    plugins: dict[str, list[str]] = {}
    for name, entry in sorted(host.plugins.entries.items()):
        if name not in host.plugins.set_aside and entry.distribution:
            plugins.setdefault(normal(entry.distribution), []).append(name)
    return plugins


def bill_of_materials(plugins: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the document for the distributions of *plugins* and for all that they require."""
    closure = _closure([CORE, *plugins])
    components = [
        _component(name, distribution, plugins.get(name, ()))
        for name, distribution in sorted(closure.items())
        if name != CORE
    ]
    subject = _component(CORE, closure[CORE], ()) if CORE in closure else {"name": CORE}
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC_VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "tools": {
                "components": [{"type": "application", "name": "nanocoder", "version": __version__}]
            },
            "component": {**subject, "type": "application"},
        },
        "components": components,
        "dependencies": [
            {"ref": _ref(name, distribution), "dependsOn": sorted(_refs_of(distribution, closure))}
            for name, distribution in sorted(closure.items())
        ],
    }


def normal(name: str) -> str:
    """Return the normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _closure(names: Iterable[str]) -> dict[str, metadata.Distribution]:
    """Return the installed distributions of *names* and all that these require."""
    closure: dict[str, metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        name = normal(waiting.pop())
        if name in closure:
            continue
        try:
            closure[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of an extra, or for another system
            continue
        waiting.extend(_requirements(closure[name]))
    return closure


def _requirements(distribution: metadata.Distribution) -> Iterator[str]:
    """Yield the names that a distribution always requires; extras are chosen by others."""
    for requirement in _fields_of(distribution).get_all("Requires-Dist") or ():
        match = REQUIREMENT_NAME.match(requirement)
        if match and not EXTRA_MARKER.search(requirement):
            yield match[0]


def _fields_of(distribution: metadata.Distribution) -> Message:
    """Return the metadata of a distribution, empty if they are missing or no text."""
    try:
        return distribution.metadata  # type: ignore[return-value]
    # The second one is of importlib-metadata, whose finder is asked first once it is imported.
    except (UnicodeDecodeError, FileNotFoundError):
        return Message()


def _version_of(distribution: metadata.Distribution) -> str:
    return str(_fields_of(distribution)["Version"] or "unknown")


def _ref(name: str, distribution: metadata.Distribution) -> str:
    # The name by which it was found: metadata may have another one, or none.
    return f"pkg:pypi/{name}@{quote(_version_of(distribution), safe='')}"


def _refs_of(
    distribution: metadata.Distribution, closure: Mapping[str, metadata.Distribution]
) -> set[str]:
    names = {normal(name) for name in _requirements(distribution)}
    return {_ref(name, closure[name]) for name in names if name in closure}


def _component(
    name: str, distribution: metadata.Distribution, plugins: Iterable[str]
) -> dict[str, Any]:
    """Return one component; the digest of its RECORD covers all of its files."""
    fields: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(name, distribution),
        "name": name,
        "version": _version_of(distribution),
        "purl": _ref(name, distribution),
        "licenses": _licenses(distribution),
        "externalReferences": list(_references(distribution)),
        "properties": [
            *({"name": "nanocoder:plugin", "value": plugin} for plugin in plugins),
            {"name": "nanocoder:files", "value": str(len(_hashes(distribution)))},
            {"name": "nanocoder:files-sha256", "value": _digest_of_files(distribution)},
        ],
    }
    return {key: value for key, value in fields.items() if value}


def _licenses(distribution: metadata.Distribution) -> list[dict[str, Any]]:
    for expression in _fields_of(distribution).get_all("License-Expression") or ():
        return [{"expression": expression}]
    names = [text.strip() for text in _fields_of(distribution).get_all("License") or ()]
    return [{"license": {"name": text}} for text in names[:1] if text and "\n" not in text]


def _references(distribution: metadata.Distribution) -> Iterator[dict[str, str]]:
    """Yield the origins of a distribution: its home page, and the URL of its installation."""
    for entry in _fields_of(distribution).get_all("Project-URL") or ():
        label, _, url = (part.strip() for part in entry.partition(","))
        if label.lower() in HOME_LABELS and url.startswith("https://"):
            yield {"type": "website" if label.lower() == "homepage" else "vcs", "url": url}
    origin = _origin(distribution)
    if origin.startswith(("https://", "file://")):
        yield {"type": "distribution", "url": origin}


def _origin(distribution: metadata.Distribution) -> str:
    """Return the address that the distribution was installed from, "" for an index."""
    try:
        data = json.loads(distribution.read_text("direct_url.json") or "{}")
        return str(data.get("url", ""))
    except (ValueError, AttributeError, RecursionError):
        return ""


def _hashes(distribution: metadata.Distribution) -> dict[str, str]:
    """Return the recorded digest of each file of a distribution, as hexadecimal digits."""
    hashes: dict[str, str] = {}
    try:
        files = distribution.files or []
    except (ValueError, csv.Error):  # an invalid RECORD
        return hashes
    for file in files:
        if file.hash is not None and file.hash.mode == "sha256":
            try:
                padded = file.hash.value + "=" * (-len(file.hash.value) % 4)
                hashes[str(file)] = base64.urlsafe_b64decode(padded).hex()
            except (binascii.Error, ValueError):
                continue
    return hashes


def _digest_of_files(distribution: metadata.Distribution) -> str:
    """Return one digest for all recorded files: two equal ones have the same content."""
    lines = (f"{digest}  {name}\n" for name, digest in sorted(_hashes(distribution).items()))
    return sha256("".join(lines).encode()).hexdigest()
