"""What is new beside something protected works as anywhere, and nothing else does."""

import os
import shlex

import pytest
from nanocoder_sandbox_landlock.landlock import Landlocked
from sandboxed_place import PYTHON, inside  # noqa: F401

EVERYDAY = {
    "a new file": ("echo y > new && cat new", "y\n"),
    "more of it": ("echo y > new; echo z >> new; cat new", "y\nz\n"),
    "a new folder": (
        "mkdir -p a/b; echo y > a/b/c; cat a/b/c; mv a d; cat d/b/c; rm -r d; ls d",
        "y\ny\n",
    ),
    "a file that is replaced": ("echo n > t; mv t own; cat own; echo m > own; cat own", "n\nm\n"),
    "a folder that is replaced": ("rm -r sub; mkdir sub; echo y > sub/f; cat sub/f", "y\n"),
    "a mode": (
        "echo x > s; chmod 750 s; stat -c %a s; chmod 640 own; stat -c %a own",
        "750\n640\n",
    ),
    "a time": (
        "touch -d @5 own; stat -c %Y own; touch own; [ $(stat -c %Y own) != 5 ] && echo now",
        "5\nnow\n",
    ),
    "a link": ("echo y > t; ln -s t l; cat l; readlink l", "y\nt\n"),
    "a copy with its mode": ("chmod 711 own; cp -p own c; stat -c %a c", "711\n"),
    "an archive": ("tar -cf a.tar own; rm own; tar -xf a.tar; cat own", "x\n"),
    "a length": (f"echo long > t; {PYTHON} 'import os; os.truncate(\"t\", 2)'; cat t", "lo"),
    "a mask": ("umask 077; echo x > t; mkdir d; stat -c %a t d", "600\n700\n"),
    "an error": (
        "mkdir sub 2>&1 | grep -o exists; rm nothing 2>&1 | grep -o 'No such'",
        "exists\nNo such\n",
    ),
    "a folder of one's own as the place": ("mkdir d; cd d; echo y > f; cat ../d/f", "y\n"),
    "a pipe's end": ("echo y | tee /dev/stderr", "y\n"),
}
REFUSED = {
    "the mode of another's file": "import os; os.fchmod(os.open('{out}/file', 0), 0o777)",
    "the mode by its path": "import os; os.chmod('{out}/file', 0o777)",
    "the mode behind a link": "import os; os.symlink('{out}/file', 'l'); os.chmod('l', 0o777)",
    "the mode by the name of a handle": "import os; f = os.open('{out}/file', 0);"
    " os.chmod(f'/proc/self/fd/{f}', 0o777)",
    "the time": "import os; os.utime('{out}/file', (1, 1))",
    "the time by an older call": "import ctypes; call = ctypes.CDLL(None).syscall;"
    " calls = (132, b'own', None), (235, b'own', None), (261, -100, b'own', None);"
    " assert 0 in [call(*each) for each in calls]",
    "the time by a handle": "import os; os.utime(os.open('{out}/file', 0), (1, 1))",
    "an attribute": "import os; os.setxattr(os.open('{out}/file', 0), 'user.x', b'y')",
    "the protected file's mode": "import os; os.chmod('sub/.vscode/tasks.json', 0o777)",
    "a folder above": "import os; os.rename('sub', 'other')",
    "an exchange": "import ctypes; done = ctypes.CDLL(None).renameat2(-100, b'own', -100,"
    " b'sub/.vscode/tasks.json', 2); assert done == 0",
    "a second name": "import os; os.link('sub/.vscode/tasks.json', 'sub/hard')",
    "a namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "flags of a file": "import fcntl, os; fcntl.ioctl(os.open('own', 0), 0x40086602, b'\\0' * 8)",
    "the process beside it": "import os; os.kill(os.getppid(), 9)",
    "its memory": "import os; open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "a datagram": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a local datagram": "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "a length that no file has": "import ctypes; open('t', 'w').close();"
    " assert ctypes.CDLL(None).truncate(b't', ctypes.c_long(-1)) == 0",
    "a network's messages": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
}


OLDER = """
import ctypes, os
call = ctypes.CDLL(None).syscall
open("t", "w").close()
assert call(90, b"t", 0o600) == 0 and os.stat("t").st_mode & 0o777 == 0o600
assert call(2, b"u", os.O_CREAT | os.O_WRONLY, 0o644) > 0 and call(85, b"u", 0o644) > 0
assert call(82, b"u", b"v") == 0 and call(87, b"v") == 0 and call(76, b"t", 3) == 0
assert call(83, b"d", 0o755) == 0 and call(84, b"d") == 0 and call(88, b"x", b"l") == 0
print(sorted(set(os.listdir()) & {*"tudvl"}))
"""
"""The numbers of calls are those of x86_64."""


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


@pytest.fixture
def place(inside):  # noqa: F811
    (inside.workspace / "own").write_text("x\n")
    (inside.workspace / "sub/.vscode").mkdir(parents=True)
    (inside.workspace / "sub/.vscode/tasks.json").write_text("{}")
    return inside


@pytest.mark.rows(5)
@pytest.mark.parametrize("name", EVERYDAY)
@pytest.mark.parametrize("has_secret", [True, False])
def test_it_works_beside_what_is_kept(place, name, has_secret):
    if not has_secret:
        (place.workspace / ".env").unlink()
    command, output = EVERYDAY[name]
    if "-r sub" in command:
        (place.workspace / "sub/.vscode/tasks.json").unlink()
        (place.workspace / "sub/.vscode").rmdir()
    done = place.run(command)
    assert done.stdout == output, done.stderr


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(place, name):
    facts = (place.out / "file").stat()
    source = REFUSED[name].replace("{out}", str(place.out))
    done = place.run(f"{PYTHON} {shlex.quote(source)}")
    assert done.returncode == 1, done.stdout
    assert "Error" in done.stderr
    after = (place.out / "file").stat()
    assert (after.st_mode, after.st_mtime_ns) == (facts.st_mode, facts.st_mtime_ns)
    assert (place.workspace / "sub/.vscode/tasks.json").read_text() == "{}"
    place.close()
    assert not (place.workspace / ".vscode").exists()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="newer processors have no such calls")
def test_the_older_calls_work(place):
    done = place.run(f"{PYTHON} {shlex.quote(OLDER)}")
    assert done.stdout == "['l', 't']\n", done.stderr


def test_a_program_that_is_missing_is_said(place):
    done = place.start(place.open().wrap(["/bin/no-such-program"], ()))
    assert (done.returncode, done.stderr) == (
        127,
        "nanocoder: /bin/no-such-program: No such file or directory\n",
    )


def test_a_new_program_runs_where_nothing_is_secret(place):
    command = r"printf '#!/bin/sh\necho ran\n' > s; chmod +x s; ./s"
    assert "ran" not in place.run(command).stdout
    (place.workspace / ".env").unlink()
    (place.workspace / "private/notes").unlink()
    (place.workspace / "private").rmdir()
    assert place.run(command).stdout == "ran\n"
