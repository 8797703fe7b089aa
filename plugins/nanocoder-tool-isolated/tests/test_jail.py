"""The attacks on sandboxes, by programs in the process of an isolated tool."""

import os
import shlex
import socket
from contextlib import ExitStack

import pytest
from nanocoder_kit_process.capabilities import Capabilities
from nanocoder_tool_isolated.jail import jailed
from sandbox_attacks import *  # noqa: F403
from sandboxed_place import PYTHON

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(60)]
# A call has other limits than a command, and a /tmp that ends with it.
del test_limits_hold_and_cannot_be_raised, test_a_session_has_its_own_tmp  # noqa: F821
# A call that cannot start beside the end of another one is started again: see test_isolated.py.
del test_commands_follow_each_other_at_once  # noqa: F821
CALL = "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); print({call} != -1)"


class Jails:
    """The processes of isolated tools in one workspace, until it is closed."""

    names = ("fs.read", "fs.write", "exec")

    def __init__(self, session, settings):
        self._session, self._memory_mb = session, settings.memory_mb
        self._calls = ExitStack()

    def wrap(self, argv, ports):
        capabilities = Capabilities.of(list(self.names))
        jail = jailed(self._session, argv, capabilities, (), self._memory_mb, [])
        return self._calls.enter_context(jail)

    def close(self):
        self._calls.close()


class JailsWithoutCapabilities(Jails):
    """Processes that have just their own code."""

    names = ()


@pytest.fixture
def box():
    """Open a jail for each program that starts in the workspace."""
    return Jails


without_capabilities = pytest.mark.parametrize("box", [JailsWithoutCapabilities])


@without_capabilities
@pytest.mark.parametrize(
    "call",
    [
        "c.unshare(0x10000000)",
        "c.syscall(425, 1, None)",
        "c.syscall(438, os.pidfd_open(os.getpid()), 0, 0)",
        "c.ptrace(16, 1, 0, 0)",
        "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
        "os.open('/proc/1/mem', os.O_RDONLY) if os.read(os.open('/proc/1/mem', 0), 1) else -1",
    ],
)
def test_no_call_of_the_system_leads_out(inside, call):
    done = inside.run(f"echo began; {PYTHON} {shlex.quote(CALL.format(call=call))}")
    assert done.stdout in {"began\n", "began\nFalse\n"}, done


@without_capabilities
def test_no_service_that_listens_is_reached(inside):
    name = str(inside.out / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        os.chmod(name, 0o777)
        server.listen()
        connect = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r})"
        done = inside.run(f"echo began; {PYTHON} {shlex.quote(connect)}")
        assert done.stdout == "began\n", done
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()
