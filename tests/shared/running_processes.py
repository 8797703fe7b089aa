"""Which processes of this machine a test has started."""

import os


def processes_with(mark):
    """Return the processes with *mark* in their command line that are no zombies."""
    numbers = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if mark.encode() in file.read():
                    numbers.append(int(name))
        except OSError:
            continue
    return numbers
