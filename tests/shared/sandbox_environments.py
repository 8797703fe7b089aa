"""Programs on PATH that a sandbox shows or hides: the tests of each sandbox import them all."""

import os
import subprocess
import sys

from nanocoder_kit_sandbox import Settings
from sandboxed_place import SECRET, SYSTEM_PYTHON, below_tmp, inside  # noqa: F401

WHERE = "import sys; print(sys.prefix, flush=True); open(sys.prefix + '/here', 'w')"


def make_environment(folder):
    """Make a virtual environment whose python3 is a link to one of the system."""
    base = SYSTEM_PYTHON if os.path.exists(SYSTEM_PYTHON) else os.path.realpath(sys.executable)
    subprocess.run([base, "-I", "-m", "venv", "--without-pip", str(folder)], check=True)
    assert (folder / "bin/python3").is_symlink()
    return folder


def put_on_path(monkeypatch, folder):
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")


def test_an_environment_in_tmp_is_there_to_be_read(inside, below_tmp, monkeypatch):  # noqa: F811
    environment = make_environment(below_tmp / ".venv")
    (below_tmp / "beside").write_text(SECRET)
    put_on_path(monkeypatch, environment)
    done = inside.run(f'python3 -c "{WHERE}"; cat {below_tmp}/beside')
    assert done.stdout == f"{environment}\n", done.stderr
    assert "Error" in done.stderr
    assert not (environment / "here").exists()


def test_a_program_in_tmp_is_there_to_be_started(inside, below_tmp, monkeypatch):  # noqa: F811
    (below_tmp / "bin").mkdir()
    (below_tmp / "bin/greet").write_text("#!/bin/sh\necho hello\n")
    (below_tmp / "bin/greet").chmod(0o755)
    (below_tmp / "beside").write_text(SECRET)
    put_on_path(monkeypatch, below_tmp)
    done = inside.run(f"greet; cat {below_tmp}/beside; echo x >> {below_tmp}/bin/greet")
    assert done.stdout == "hello\n", done.stderr
    assert (below_tmp / "bin/greet").read_text().endswith("hello\n")


def test_git_works_where_a_home_is_in_tmp(inside, below_tmp, monkeypatch):  # noqa: F811
    monkeypatch.setenv("HOME", str(below_tmp))
    (below_tmp / ".gitconfig").write_text("[user]\nname = of the person\n")
    (below_tmp / "beside").write_text(SECRET)
    inside.home = below_tmp
    done = inside.run(f"git config user.name; git status --short -uno; cat {below_tmp}/beside")
    assert done.stdout == "of the person\n", done.stderr


def test_an_environment_that_holds_something_secret_stays_hidden(
    inside,  # noqa: F811
    below_tmp,  # noqa: F811
    monkeypatch,
):
    environment = make_environment(below_tmp / "env")
    (environment / "key").write_text(SECRET)
    put_on_path(monkeypatch, environment)
    done = inside.run(f"cat {environment}/key", Settings(hidden=(f"{environment}/key",)))
    assert SECRET not in done.stdout
    assert done.returncode
