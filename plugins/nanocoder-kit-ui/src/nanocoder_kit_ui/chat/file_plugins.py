"""Load plugins of one file again in a running session, where their files have changed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import evolve
from nanocoder import Plugins, user_config_dir
from nanocoder_discovery import (
    FILES,
    Installed,
    file_plugins,
    import_plugin,
    import_problem,
    package_files,
)

AT_NEXT_START: Final = "it judges calls, so it counts from the next start on"


def renew_file_plugins(plugins: Plugins) -> Iterator[str]:
    """Load again each plugin of one file that is new, gone or changed; yield a line for each."""
    now = {each.name: each for each in file_plugins(str(user_config_dir() / "plugins"))}
    for name, entry in list(plugins.entries.items()):
        is_file = entry.module != "" and entry.module == entry.distribution
        if is_file and name not in now and not entry.is_policy:
            plugins.remove(name, "was removed: its file is gone")
            yield f"plugin {name}: removed"
    for name, installed in now.items():
        old = plugins.entries.get(name)
        if old is None or (old.module == installed.module and not old.still_holds(installed)):
            yield f"plugin {name}: {_load(plugins, installed)}"


def _load(plugins: Plugins, installed: Installed) -> str:
    """Replace a plugin by what its file has now, or keep it; return what happened."""
    name, module = installed.name, f"{FILES}.{Path(installed.module).stem}"
    old, old_module = plugins.entries.get(name), sys.modules.pop(module, None)
    trial = Plugins()
    try:
        plugin = import_plugin(installed.module)
        trial.add(plugin, name)
        problem = ""
    except Exception as error:  # noqa: BLE001 - the code of a plugin may raise anything
        stays = "; the version before stays" if old is not None else ""
        problem = f"not loaded, its {import_problem(error, installed.module)}{stays}"
    if any(entry is not None and entry.is_policy for entry in (old, trial.entries.get(name))):
        problem = AT_NEXT_START
    if problem:
        sys.modules.pop(module, None)
        if old_module is not None:
            sys.modules[module] = old_module
        return problem
    plugins.remove(name)
    plugins.removed.pop(name, None)
    plugins.set_aside.pop(name, None)
    plugins.add(plugin, name)
    description = {**plugins.entries[name].description, "files": package_files(installed.module)}
    plugins.entries[name] = evolve(
        plugins.entries[name], **vars(installed), description=description
    )
    return "loaded" if old is None else "loaded again"
