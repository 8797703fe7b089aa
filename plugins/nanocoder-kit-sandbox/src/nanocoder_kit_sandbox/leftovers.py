"""Name what a command left running, from inside: the sandbox ends it, and nothing outside sees it.

A note goes to standard error, as the shell's own messages do.
"""

from collections.abc import Sequence
from typing import Final

SHELL: Final = "/bin/sh"
NOTE: Final = "left running in the background, and ended with the call"
NAME_OF_SANDBOX: Final = "bwrap"

# The shell's own words about a signal would be read as the command's, so they go nowhere. Process
# 1 is of the sandbox; a zombie has ended.
SCRIPT: Final = f"""\
exec 3>&2 2>/dev/null
trap : HUP INT TERM
(exec "$@" 2>&3 3>&-)
code=$?
names=
for file in /proc/[0-9]*/stat; do
  read -r line <"$file" || continue
  rest=${{line##*) }}
  case "${{line%% *}} ${{rest%% *}}" in "1 "* | "$$ "* | *" Z" | *" X") continue ;; esac
  name=${{line#*(}}
  name=${{name%)*}}
  [ "$name" = {NAME_OF_SANDBOX} ] || names="$names, $name"
done
[ -z "$names" ] || printf '[{NOTE}: %s]\\n' "${{names#, }}" >&3
exit "$code"
"""


def telling(argv: Sequence[str]) -> list[str]:
    """Return an argument vector that runs *argv* in a PID namespace, and names what it leaves."""
    return [SHELL, "-c", SCRIPT, SHELL, *argv]
