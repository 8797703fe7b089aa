"""A plugin in a file that the option `--plugin` names, for one run."""

import os
from pathlib import Path

from nanocoder import Config, Plugins, UsageError
from nanocoder_discovery import import_plugin, import_problem


class FilePlugins:
    """Plugins of one file that are added to those installed."""

    def add(self, file: str, plugins: Plugins, config: Config) -> None:
        """Add the plugin in the Python file *file*; raises UsageError or PluginError."""
        path = os.path.abspath(file)
        if config.strict or not (path.endswith(".py") and os.path.isfile(path)):
            problem = "plugins.strict is set" if config.strict else "there is no such Python file"
            raise UsageError(f"--plugin {file}: {problem}")
        try:
            plugins.add(import_plugin(path), Path(path).stem.replace("_", "-"))
        except (Exception, SystemExit) as error:
            raise UsageError(f"--plugin {file}: {import_problem(error, path)}") from error
