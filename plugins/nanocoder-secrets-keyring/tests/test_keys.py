"""The commands on a real backend of the library: keys in a file."""

import pytest

pytestmark = pytest.mark.timeout(60)
BACKEND = {"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"}
NONE = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.mark.contract("I19")
def test_a_key_is_kept_printed_replaced_and_forgotten(nanocoder):
    for key in ("first-key-1", "second-key-2"):
        done = nanocoder("keys", "set", "acme", input=f"{key}\n", stdin=None, env=BACKEND)
        assert done.returncode == 0, done.stderr
        assert 'key_command = ["nanocoder", "keys", "get", "acme"]' in done.stderr
        assert key not in done.stdout + done.stderr
        assert nanocoder("keys", "get", "acme", env=BACKEND).stdout == f"{key}\n"
    assert nanocoder("keys", "remove", "acme", env=BACKEND).returncode == 0
    for action in ("get", "remove"):
        done = nanocoder("keys", action, "acme", env=BACKEND)
        assert (done.returncode, "the keyring has no key 'acme'" in done.stderr) == (2, True)


def test_without_a_keyring_it_says_what_else_there_is(nanocoder):
    done = nanocoder("keys", "get", "acme", env=NONE)
    assert done.returncode == 2
    assert "no keyring that can be used here; keep the key in a file with mode 600" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["", "two words", "caf\xe9"])
def test_what_is_no_key_is_not_kept(nanocoder, text):
    done = nanocoder("keys", "set", "acme", input=f"{text}\n", stdin=None, env=BACKEND)
    assert (done.returncode, "this is not a key" in done.stderr) == (2, True)
    assert nanocoder("keys", "get", "acme", env=BACKEND).returncode == 2


def test_no_call_of_a_session_gets_a_key(nanocoder):
    nanocoder("keys", "set", "acme", input="first-key-1\n", stdin=None, env=BACKEND)
    arguments = '{"command": "nanocoder keys get acme"}'
    done = nanocoder("call", "bash", arguments, "--mode", "auto", env=BACKEND)
    assert "first-key-1" not in done.stdout + done.stderr
