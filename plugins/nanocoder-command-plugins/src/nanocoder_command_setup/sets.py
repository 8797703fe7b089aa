"""The installed sets and their members; `--set` restricts nanocoder to one set."""

import re

from nanocoder import UsageError, did_you_mean, known_packages
from nanocoder_discovery import Installed, distribution_of, find_libraries, site_paths

from nanocoder_command_setup.consent import normal

SET = "nanocoder-set-"


class Sets:
    """The installed sets of plugins."""

    def members(self, name: str) -> set[str]:
        """Return the distributions that the set *name* requires, directly or by other sets.

        Raises UsageError when it is not installed.
        """
        libraries = {library.name: library for library in find_libraries(site_paths())}
        sets = [library.removeprefix(SET) for library in libraries if library.startswith(SET)]
        if name not in sets:
            is_ours = f"{SET}{name}" in known_packages().values()
            way = f"; nanocoder plugins install {SET}{name} brings it."
            hint = way if is_ours else did_you_mean(name, sets, ".")
            have = ", ".join(sets) or "none"
            raise UsageError(f"there is no set {name!r}{hint} Installed: {have}")
        members = [f"{SET}{name}"]
        for member in members:  # it grows
            # Only sets are followed: a plugin may require a plugin that the set leaves out.
            if member.startswith(SET) and member in libraries:
                members += _requirements(libraries[member]).difference(members)
        return set(members)


def _requirements(installed: Installed) -> set[str]:
    """Return the distributions that a distribution requires, those of its extras included."""
    distribution = distribution_of(installed)
    lines = (distribution and distribution.requires) or ()
    return {normal(re.split(r"[ ;<>=!~\[(]", line, maxsplit=1)[0]) for line in lines}
