"""Name what a command left running, from inside: the sandbox ends it, and nothing outside sees it.

A note goes to standard error, as the shell's own messages do.
"""

from collections.abc import Sequence
from typing import Final

from nanocoder_kit_sandbox.limits import SHELL, limit_script
from nanocoder_kit_sandbox.settings import Settings

NOTE: Final = "left running in the background, and ended with the call"
NAME_OF_SANDBOX: Final = "bwrap"

# The shell's own words about a signal would be read as the command's, so they go nowhere. Process
# 1 is of the sandbox; a zombie has ended. A shell reads a line letter by letter, each with a call
# of the system, so it does not read about these two.
SCRIPT: Final = f"""\
exec 3>&2 2>/dev/null
trap : HUP INT TERM
(exec "$@" 2>&3 3>&-)
code=$?
names=
for file in /proc/[0-9]*/stat; do
  case "$file" in /proc/1/stat | "/proc/$$/stat") continue ;; esac
  read -r line <"$file" || continue
  rest=${{line##*) }}
  case "${{rest%% *}}" in Z | X) continue ;; esac
  name=${{line#*(}}
  name=${{name%)*}}
  [ "$name" = {NAME_OF_SANDBOX} ] || names="$names, $name"
done
[ -z "$names" ] || printf '[{NOTE}: %s]\\n' "${{names#, }}" >&3
exit "$code"
"""


def telling(argv: Sequence[str], settings: Settings) -> list[str]:
    """Return an argv that runs *argv* in a PID namespace, and names what it leaves.

    The shell that does so also sets the limits: one more would take as long to start.
    """
    limits = limit_script(settings)
    script = f"{{ {limits}; }} || exit\n{SCRIPT}" if limits else SCRIPT
    return [SHELL, "-c", script, SHELL, *argv]
