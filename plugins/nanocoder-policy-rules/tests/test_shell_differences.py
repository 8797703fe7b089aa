"""The words that the reader of shell text takes from random texts are those that bash takes."""

import os
import random
import subprocess

import pytest
from nanocoder_policy_rules.shell_text import parse

pytestmark = pytest.mark.timeout(60)
TEXTS = 400
NOT_FOUND = "127"
PIECES = [
    *(
        "a",
        "b c",
        "-x",
        "--y=z",
        "ü",
        "7",
        "#",
        " # c",
        "!",
        "=",
        "{",
        "}",
        "]",
        "%",
        ",",
        ":",
        "^",
    ),
    *("'", "'", '"', '"', "\\", "\\\\", "\\'", '\\"', "\\\n", "\\ ", "\t", "\n", " ", " ", "  "),
    *("''", '""', "'a b'", '"a b"', "'\n'", '"\n"', "'\\'", '"\\a"', '"\\\\"', '"\\\n"', "a'b'c"),
    *(";", "args ", "; args ", "\nargs ", "\n\nargs "),
]
HEREDOCS = ["<<'E'\n{}\nE\n", '<<"E"\n{}\nE\n', "<<\\E\n{}\nE\n", "<<-'E'\n\t{}\n\tE\n", "<<< 'x' "]
# Each text is run in an empty folder, with one program, which shows its words.
SHOW = r"""
PATH=
args() { for word; do printf 'W%s\0' "$word"; done; printf 'C\0'; }
while IFS= read -r -d '' text; do
  (eval "$text") </dev/null 2>/dev/null
  printf 'T%s\0' "$?"
done
"""


def texts(seed):
    """Return random texts, most of them one or two commands."""
    choose = random.Random(seed)
    for _ in range(TEXTS):
        text = "args " + "".join(choose.choices(PIECES, k=choose.randint(1, 9)))
        if choose.random() < 0.2:
            heredoc = choose.choice(HEREDOCS)
            document = "".join(choose.choices(PIECES, k=3)).replace("\n", "")
            text += " " + heredoc.replace("{}", document) + choose.choice(("", "args z"))
        yield text


def words_of_bash(all_texts, folder):
    """Return the commands of each text as bash runs them, None where its syntax is wrong."""
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", SHOW],
        input="".join(f"{text}\0" for text in all_texts).encode(),
        cwd=folder,
        env={"LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    )
    results, commands, words = [], [], []
    for item in done.stdout.decode(errors="replace").split("\0")[:-1]:
        kind, value = item[:1], item[1:]
        if kind == "W":
            words.append(value)
        elif kind == "C":
            commands, words = [*commands, words], []
        elif kind == "T":
            results.append(commands if value in {"0", NOT_FOUND} else None)
            commands = []
    return results


def words_of_parser(text):
    """Return the same as it is parsed; None where rules would ask, as they do not understand it."""
    script = parse(text)
    if script.problem:
        return None
    words = [command.words for command in script.commands]
    if any(not word.is_literal for each in words for word in each):
        return None
    # Any other word in the place of a program is one that bash does not find.
    return [[word.text for word in each[1:]] for each in words if each and each[0].text == "args"]


@pytest.mark.parametrize("seed", range(8))
def test_words_of_random_texts_are_those_of_bash(seed, tmp_path):
    all_texts = [*texts(seed)]
    by_bash = words_of_bash(all_texts, tmp_path)
    assert len(by_bash) == len(all_texts)
    assert not os.listdir(tmp_path)
    compared = 0
    for text, expected in zip(all_texts, by_bash, strict=True):
        parsed = words_of_parser(text)
        if expected is None or parsed is None:
            continue
        # The parser may see more commands: what bash does not find is a program to it, too.
        assert all(each in parsed for each in expected), (text, parsed, expected)
        compared += 1
    assert compared > TEXTS // 5
