"""`nanocoder-plugin.toml`, the file in a plugin's package that declares its capabilities."""

import tomllib
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import NanocoderError, did_you_mean

from nanocoder_kit_process.capabilities.capabilities import Capabilities

FILE: Final = "nanocoder-plugin.toml"
API: Final = 1
MAX_BYTES: Final = 65_536
KEYS: Final = ("api", "capabilities")


class ManifestError(NanocoderError):
    """An invalid `nanocoder-plugin.toml`; the text has the file and the reason."""

    error_class = "plugin"


@frozen
class Manifest:
    """The declarations of a plugin."""

    capabilities: Capabilities


def read_manifest(package: Path) -> Manifest | None:
    """Return the manifest in the folder of a package, None without one; raises ManifestError."""
    path = (package if package.is_dir() else package.parent / package.stem) / FILE
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > MAX_BYTES:
        raise ManifestError(f"{path} has more than {MAX_BYTES:,} bytes")
    try:
        return _manifest_of(tomllib.loads(text.decode()))
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: {error}") from error


def _manifest_of(data: dict[str, Any]) -> Manifest:
    for key in data:
        if key not in KEYS:
            raise ValueError(f"there is no key {key!r}{did_you_mean(key, KEYS)}")
    if data.get("api") != API:
        raise ValueError(f"api is {data.get('api')!r:.40}; this version reads api = {API}")
    names = data.get("capabilities")
    if not isinstance(names, list):
        raise ValueError(  # noqa: TRY004 - wrong as a value of the file is
            'capabilities is missing; write for example capabilities = ["fs.read"]'
        )
    return Manifest(Capabilities.of(names))
