"""The meaning of each kind of part, in the words of a question."""

from collections.abc import Mapping
from typing import Final

MEANINGS: Final[Mapping[str, str]] = {
    "ansi-c-string": "a string with escapes, which can spell any character",
    "arithmetic": "arithmetic, which can run commands by the names of variables",
    "assignment": "an assignment, which can change what later commands do",
    "background": "a command that goes on in the background",
    "braces": "braces, which the shell expands to several words",
    "case": "a case statement",
    "command-substitution": "command substitution: it runs a command and uses what that prints",
    "comment": "a comment, which hides the rest of the line from the shell",
    "computed-program": "the program to run is known only when the command runs",
    "condition": "a condition",
    "decoded-code": "it runs code that is encoded here, so a person cannot read what runs",
    "downloaded-code": "it runs code from the network that no person has read",
    "escape": "a backslash, which changes what the next character means",
    "eval": "its arguments are run as commands",
    "function": "a function, which can take the name of a program",
    "group": "a group of commands",
    "here-document": "a here-document: text for the command's input",
    "here-string": "a here-string: text for the command's input",
    "hidden-characters": "characters that cannot be seen, or change how others are shown",
    "home": "a path in a home directory",
    "loop": "a loop",
    "negation": "a negated command",
    "network-file": "the shell opens a network connection by this file name",
    "newline": "a new line, which starts another command",
    "not-ascii": "characters beyond ASCII, which can look like others",
    "process-substitution": "process substitution: it runs a command and uses it as a file",
    "quoted-program": "the name of the program is quoted",
    "redirection": "redirection to or from a file",
    "redirection-to-variable": "redirection to a name that is known only when the command runs",
    "sign": "a sign with a meaning of its own to the shell",
    "subshell": "commands in a shell of their own",
    "syntax": "not understood as the syntax of bash",
    "test": "a test, which can run commands by the names of variables",
    "variable": "a variable: its value is known only when the command runs",
    "wildcard": "a wildcard: what it stands for is known only when the command runs",
    "wrapper": "it runs the command that follows",
}
ADVICE: Final[Mapping[str, str]] = {
    "decoded-code": "write the code to a file as plain text, and run that",
    "downloaded-code": "download it to a file, read it, then run it",
    "hidden-characters": "write the command without them",
    "network-file": "use a program such as curl",
}
