"""Plugins that are installed: found without importing, described once, agreed to by a lock."""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_discovery.child": "serve",
    "nanocoder_discovery.installed": """
        GROUP Installed find_libraries find_plugins package_files parts_of requirements_of
        site_paths
    """,
    "nanocoder_discovery.lock": "differences installed_now read_lock refused_by write_lock",
    "nanocoder_discovery.manifest": "DESCRIBE_DEADLINE_S Describer Entry load",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
