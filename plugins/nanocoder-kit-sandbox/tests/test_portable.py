"""What all sandboxes use can be imported where Linux is not."""

import subprocess
import sys

ELSEWHERE = """
import os, sys
del os.O_PATH, os.getxattr, sys.modules["posix"].O_PATH
import nanocoder_kit_sandbox
"""


def test_another_system_needs_nothing_of_linux():
    subprocess.run([sys.executable, "-c", ELSEWHERE], check=True)
