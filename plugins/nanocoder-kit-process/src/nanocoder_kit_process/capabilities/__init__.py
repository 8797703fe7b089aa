"""Capabilities of plugins: declared, and inferred from the source without running it."""

from nanocoder_kit_process.capabilities.capabilities import KINDS, NONE, Capabilities
from nanocoder_kit_process.capabilities.distributions import (
    Package,
    distributions_in,
    packages_in,
    readable_distributions,
    runs_at_start,
    start_files,
)
from nanocoder_kit_process.capabilities.manifest import FILE, Manifest, ManifestError, read_manifest
from nanocoder_kit_process.capabilities.outline import Outline, OutlinedTool, outline
from nanocoder_kit_process.capabilities.scan import Use, scan
from nanocoder_kit_process.capabilities.wheel_folders import first_links

__all__ = [
    "FILE",
    "KINDS",
    "NONE",
    "Capabilities",
    "Manifest",
    "ManifestError",
    "Outline",
    "OutlinedTool",
    "Package",
    "Use",
    "distributions_in",
    "first_links",
    "outline",
    "packages_in",
    "read_manifest",
    "readable_distributions",
    "runs_at_start",
    "scan",
    "start_files",
]
