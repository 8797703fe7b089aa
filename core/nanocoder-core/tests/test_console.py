"""The package alone: a program with commands of its own."""

import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager

import pytest
from nanocoder_console import Argument, Command, Parser, prompt_of
from nanocoder_schema import UsageError

COMMANDS = {
    command.name: command
    for command in (
        Command("greet", "say hello", arguments=(Argument("name", "who it is for"),)),
        Command("set colour", "paint", arguments=(Argument("--tone", choices=("red", "blue")),)),
        Command("set size", "grow", arguments=(Argument(("-n", "--number"), kind="integer"),)),
    )
}


@pytest.fixture
def parser():
    parser = Parser("hello")
    parser.add_commands(COMMANDS)
    return parser


def test_declared_commands_are_read(parser):
    assert parser.parse_args(["greet", "Ada"]).name == "Ada"
    assert parser.parse_args(["set", "size", "-n", "3"]).number == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set", "size", "-n", "x"], "-n/--number: expected a whole number, got 'x'"),
        (["set", "colour", "--tone", "blu"], "unknown value 'blu'; did you mean 'blue'?"),
        (["set", "size", "--num", "3"], "unrecognized arguments: --num 3"),
    ],
)
def test_a_mistake_is_an_error_with_advice(parser, words, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        parser.parse_args(words)


def test_every_argument_is_noted_as_it_was_declared():
    noted = []
    parser = Parser("hello")
    parser.add_commands(COMMANDS, lambda _, argument: noted.append(argument.names[0]))
    assert noted == ["name", "--tone", "-n"]


def run(code, **options):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options)


def test_what_is_printed_cannot_steer_a_terminal():
    code = "from nanocoder_console import *; print_line('a\\x1b[2Jb'); complain('c\\x1b[2J');"
    done = run(code + "print_table(('n', 'what'), [(1, 'x\\x1b'), (20, 'y\\nz')])")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr.startswith("nanocoder: c")
    assert done.stdout.splitlines()[1] == " n  what"
    assert done.stdout.splitlines()[-1] == "20  y z"


def test_a_pipe_is_read_beside_the_words_and_an_empty_prompt_is_refused():
    code = "from nanocoder_console import prompt_of; print(prompt_of('look'))"
    assert "<stdin>\\nthe pipe\\n</stdin>" in run(code, input="the pipe\n").stdout
    assert "<stdin>\\nthe pipe\\n</stdin>" in run(code, input="\ufeffthe pipe\n").stdout
    with pytest.raises(UsageError, match="the prompt is empty"):
        prompt_of(" ", wait=False)


def test_what_a_socket_sent_before_it_broke_off_is_read():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as ours,
    ):
        theirs = server.accept()[0]
        theirs.sendall(b"the beginning")
        # Closing resets the connection then.
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        code = "from nanocoder_console import prompt_of; print(prompt_of('look', wait=True))"
        assert "<stdin>\\nthe beginning\\n</stdin>" in run(code, stdin=ours).stdout


@contextmanager
def terminal():
    first, second = pty.openpty()
    try:
        yield second
    finally:
        os.close(first)
        os.close(second)


@pytest.mark.parametrize("answer", ["y\n", "n\n", ""])
def test_only_a_yes_is_a_yes(answer):
    code = "from nanocoder_console import is_agreed; print(is_agreed('Go on?'))"
    agreed = run(code, input=answer).stdout.split()[-1]
    assert agreed == str(answer == "y\n")


def test_the_width_is_that_of_a_terminal_only():
    code = "import sys; from nanocoder_console import terminal_width; sys.exit(terminal_width())"
    assert run(code).returncode == 0
    with terminal() as screen:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=screen,
            stdout=screen,
            env={**os.environ, "COLUMNS": "7"},
            check=False,
        )
    assert done.returncode == 20  # no table is drawn narrower


@pytest.mark.parametrize("columns", [40, 60])
def test_a_word_in_a_table_stays_whole_in_a_narrow_terminal(columns):
    word = "a/path/that/a/person/copies/from/the/table"
    code = (
        f"from nanocoder_console import print_table; print_table(('n', 'what'), [(1, '{word} x')])"
    )
    first, second = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns)}
    subprocess.run([sys.executable, "-c", code], stdout=second, env=env, check=True)
    written = os.read(first, 4_096).decode()
    os.close(first)
    os.close(second)
    assert word in written


@pytest.mark.parametrize(("columns", "lines"), [(30, 4), (0, 1)])
def test_a_message_ends_its_lines_at_spaces_on_a_terminal(columns, lines):
    words = "a message of many words about /a/path/that/is/longer/than/one/line and more"
    code = f"from nanocoder_console import complain; complain({words!r})"
    first, second = pty.openpty()
    fcntl.ioctl(second, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run([sys.executable, "-c", code], stderr=second, check=True)
    written = os.read(first, 4_096).decode().splitlines()
    os.close(first)
    os.close(second)
    assert " ".join(written) == f"nanocoder: {words}"
    assert len(written) == lines
    assert run(code).stderr == f"nanocoder: {words}\n"


def test_a_secret_with_a_space_is_taken_out_before_lines_end():
    code = """
import sys
from nanocoder_console import CleanedStream, complain
sys.stderr = CleanedStream(sys.stderr.buffer, line_buffering=True)
sys.stderr.clean = lambda text: text.replace("top secret", "[hidden]")
complain("it is said to be top secret")
"""
    first, second = pty.openpty()
    fcntl.ioctl(second, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 31, 0, 0))
    subprocess.run([sys.executable, "-c", code], stderr=second, check=True)
    written = os.read(first, 4_096).decode()
    os.close(first)
    os.close(second)
    assert "secret" not in written
    assert "[hidden]" in written


def test_it_needs_nothing_of_the_agent():
    code = "import nanocoder_console.parser, nanocoder_console.signals, nanocoder_console.streams"
    assert run(f"{code}, sys; print('nanocoder' in sys.modules)").stdout == "False\n"


STUCK = """
import os, signal, sys, threading
from nanocoder_console import Signals

with Signals():
    os.kill(os.getpid(), signal.SIGTERM)
    print("stuck", flush=True)
    threading.Lock().acquire()
    try:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    finally:
        lock.acquire()
"""


def test_the_second_signal_ends_a_process_that_does_not_react_any_more():
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
