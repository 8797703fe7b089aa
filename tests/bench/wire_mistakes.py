"""Sixty mistakes that models make, each with the way on and the sign that the work is done."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen
from wire_calls import Step, step

Done = Callable[[Path, str], bool]
"""From the workspace and all results, whether the work is done."""

CALC: Final = '''"""MARK-CALC"""


def add(a, b):
    return a - b


def sub(a, b):
    return a - b
'''
ADD: Final = "def add(a, b):\n    return a - b"
ADD_FIXED: Final = "def add(a, b):\n    return a + b"
GO: Final = "func main() {\n\tif ready {\n\t\tstart()\n\t}\n}\n"
FILES: Final = {
    "src/calc.py": CALC,
    "src/shop/cart.py": 'NAME = "MARK-CART"\nLIMIT = 10\n',
    "src/main.go": GO,
    "src/crlf.txt": "alpha\r\nbeta\r\ngamma\r\n",
    "src/quotes.md": "It\u2019s \u201cready\u201d \u2013 now\n",
    "readme.md": "# MARK-README\n",
    "docs/guide.md": "".join(f"line {n}\n" for n in range(1, 2_491)) + "MARK-GUIDE\nend\n",
    "app/[id]/page.tsx": "export const mark = 'MARK-PAGE'\n",
    "web/app.min.js": f"{'var a=1;' * 9_000}var needle='MARK-MINIFIED';{'var b=2;' * 9_000}\n",
    "ask.py": "name = input('Your name? ')\nprint('MARK-HELLO', name)\n",
    "long.py": "for n in range(9000):\n    print('step', n, 'x' * (n % 7))\n"
    "    if n == 4500:\n        print('ERROR: MARK-MIDDLE')\n",
    "server.py": "import http.server, sys\n\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n"
    "        self.wfile.write(b'MARK-SERVER')\n\n"
    "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n",
}
WIDE: Final = "first\nMARK-WIDE here\n"
PORT: Final = 20_000 + os.getpid() % 20_000
GIT: Final = ("git", "-c", "user.name=w", "-c", "user.email=w@example.invalid")


@frozen
class Mistake:
    """A mistake: the steps *before* it, the *wrong* ones, the *repair*, and when it is *is_done*.

    *clue* is a pattern of what a result must say so that the model can go on with the repair; ""
    stands for the agent's own names of tool and parameters. Without it come the *detours*.
    """

    name: str
    wrong: Sequence[Step]
    repair: Sequence[Step]
    is_done: Done
    clue: str = ""
    detours: Sequence[Step] = ()
    before: Sequence[Step] = ()


def prepare(work: Path) -> None:
    """Write the files of the workspace, which is a repository."""
    for name, text in FILES.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (work / "src/wide.txt").write_bytes(WIDE.encode("utf-16"))
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
        subprocess.run([*GIT, *words], cwd=work, check=True)
    for key, value in (("user.name", "w"), ("user.email", "w@example.invalid")):
        subprocess.run(["git", "config", key, value], cwd=work, check=True)


def saw(text: str) -> Done:
    """Return whether a result has shown *text*."""
    return lambda _, results: text in results


def has(path: str, text: str) -> Done:
    """Return whether the file *path* has *text*."""

    def look(work: Path, _: str) -> bool:
        file = work / path
        return file.is_file() and text in file.read_bytes().decode("utf-8", "replace")

    return look


def bash(command: str, broken: str = "", **more: object) -> Step:
    """Return a command."""
    return step("bash", broken, command=command, **more)


def read(path: str, broken: str = "", **more: object) -> Step:
    """Return a reading of a file."""
    return step("read", broken, path=path, **more)


def edit(path: str, old: str, new: str, broken: str = "", **more: object) -> Step:
    """Return an edit."""
    return step("edit", broken, path=path, old=old, new=new, **more)


def again(name: str, right: Step, broken: str, done: Done, **more: object) -> Mistake:
    """Return the mistake of writing a *right* step *broken*: seeing no way on, it does so again."""
    wrong = Step(right.kind, right.values, broken)
    clue, before = str(more.get("clue", "")), more.get("before", ())
    return Mistake(name, [wrong], [right], done, clue, [wrong], before)  # type: ignore[arg-type]


def lost(name: str, wrong: Step, right: Step, done: Done, clue: str, find: str) -> Mistake:
    """Return a mistake about a path or a text: seeing no way on, it looks around by *find*."""
    before = [read(str(right.values["path"]))] if right.kind == "edit" else []
    return Mistake(name, [wrong], [right], done, clue, [bash(find)], before)


READ_CALC, READ_CART = read("src/calc.py"), read("src/shop/cart.py")
FIX: Final = edit("src/calc.py", ADD, ADD_FIXED)
FIXED, SEEN = has("src/calc.py", "a + b"), saw("MARK-CALC")
ECHO: Final = bash("echo MARK-$((40 + 2))")
ECHOED: Final = saw("MARK-42")
WRITE: Final = step("write", path="new/a.txt", content="one\ntwo MARK-NEW\n" + "three\n" * 40)
WRITTEN: Final = has("new/a.txt", "MARK-NEW\nthree")
GREP: Final = step("grep", pattern="MARK-CART", path="src")
GLOB: Final = step("glob", pattern="**/cart.py")
GUIDE: Final = read("docs/guide.md", offset=2_480, limit=12)
SERVE: Final = f"python3 server.py {PORT}"
CURL: Final = bash(f"sleep 1; curl -s http://127.0.0.1:{PORT}/")
SERVED: Final = saw("MARK-SERVER")
SERVER: Final = [bash(SERVE, background=True), CURL]
LOOK: Final = "find . -iname '*{}*' -not -path './.git/*'"
SHOW_CALC: Final = "cat -A src/calc.py"

CART: Final = (READ_CART, saw("MARK-CART"))
CALCULATOR: Final = (READ_CALC, SEEN)
REPAIRED: Final = (FIX, FIXED)
FIND_CALC: Final = LOOK.format("calc")
README: Final = (read("readme.md"), saw("MARK-README"))
GO_EDIT: Final = edit("src/main.go", "\tif ready {\n\t\tstart()", "\tif ready {\n\t\trun()")
QUOTES: Final = edit("src/quotes.md", "It\u2019s \u201cready\u201d \u2013 now", "It is done")


def in_calc(old: str, new: str = ADD_FIXED) -> Step:
    """Return an edit of src/calc.py."""
    return edit("src/calc.py", old, new)


LOST: Final[Sequence[tuple[str, Step, Step, Done, str, str]]] = (
    ("bare name of a file", read("cart.py"), *CART, r"shop/cart\.py", LOOK.format("cart")),
    ("other capitals", read("README.md"), *README, r"readme\.md'", LOOK.format("readme")),
    ("pattern for a path", read("src/shop/*.py"), *CART, r"cart\.py", LOOK.format("cart")),
    ("folder for a file", read("src/shop"), *CART, r"cart\.py", "ls src/shop"),
    (
        "path of another machine",
        read("/workspace/project/src/calc.py"),
        *CALCULATOR,
        r"'src/calc\.py|/work/src/calc\.py",
        FIND_CALC,
    ),
    ("misspelt path", read("src/clac.py"), *CALCULATOR, r"calc\.py", FIND_CALC),
    ("path with backslashes", read("src\\calc.py"), *CALCULATOR, r"src/calc\.py", FIND_CALC),
    ("path in quotes", read('"src/calc.py"'), *CALCULATOR, r"[^\"]src/calc\.py", FIND_CALC),
    ("path one folder too deep", read("src/shop/calc.py"), *CALCULATOR, r"src/calc\.py", FIND_CALC),
    ("edit of a bare name", edit("calc.py", ADD, ADD_FIXED), *REPAIRED, r"src/calc\.py", FIND_CALC),
    (
        "offset behind the end",
        read("src/calc.py", offset=900, limit=20),
        *CALCULATOR,
        r"\b\d+ lines|lines? \d+",
        "wc -l src/calc.py",
    ),
    (
        "text that is there twice",
        in_calc("    return a - b", "    return a + b"),
        *REPAIRED,
        "twice|multiple|matches|unique|2 ",
        SHOW_CALC,
    ),
    (
        "blanks for tabs",
        edit("src/main.go", "    if ready {\n        start()", "    if ready {\n        run()"),
        GO_EDIT,
        has("src/main.go", "\t\trun()"),
        r"tab|\\t|\t\tstart",
        "cat -A src/main.go",
    ),
    (
        "line numbers in the old text",
        in_calc("4\tdef add(a, b):\n5\t    return a - b"),
        *REPAIRED,
        "line number|return a - b",
        SHOW_CALC,
    ),
    (
        "straight quotes for curly ones",
        edit("src/quotes.md", 'It\'s "ready" - now', "It is done"),
        QUOTES,
        has("src/quotes.md", "done"),
        "quot|\u2019",
        "cat src/quotes.md",
    ),
    (
        "line ends of another system",
        edit("src/crlf.txt", "alpha\nbeta", "alpha\nBETA"),
        edit("src/crlf.txt", "beta", "BETA"),
        has("src/crlf.txt", "BETA"),
        "CRLF|beta",
        "cat -A src/crlf.txt",
    ),
    (
        "escapes written out",
        in_calc(ADD.replace("\n", "\\n")),
        *REPAIRED,
        r"escape|line end|return a - b",
        SHOW_CALC,
    ),
    (
        "blanks at the ends of lines",
        in_calc(ADD.replace("\n", "  \n")),
        *REPAIRED,
        "blank|space|return a - b",
        SHOW_CALC,
    ),
)
"""Mistakes about a path or a text: the arguments of `lost`."""

MISTAKES: Final[Sequence[Mistake]] = (
    again("foreign name of the reading tool", READ_CALC, "tool", SEEN),
    again("foreign name of the shell", ECHO, "tool", ECHOED),
    again(
        "foreign name of the editing tool", FIX, "tool:replace_in_file", FIXED, before=[READ_CALC]
    ),
    again("foreign name of the writing tool", WRITE, "tool", WRITTEN),
    again("foreign name of the searching tool", GREP, "tool", saw("NAME =")),
    again("foreign name of the finding tool", GLOB, "tool", saw("shop/cart.py")),
    again("name with a namespace", ECHO, "namespace", ECHOED),
    again("name in capitals", READ_CALC, "upper", SEEN),
    again("name with a marker of the model", ECHO, "tool:bash<|channel|>commentary", ECHOED),
    again("foreign name of a path", READ_CALC, "name:path", SEEN),
    again("foreign name of an old text", FIX, "name:old", FIXED, before=[READ_CALC]),
    again("foreign name of a content", WRITE, "name:content", WRITTEN),
    again("foreign name of a command", ECHO, "name:command", ECHOED),
    again("number as text", GUIDE, "text:limit", saw("MARK-GUIDE")),
    again("truth as text", edit(**FIX.values, all=False), "text:all", FIXED, before=[READ_CALC]),
    again("command as a list", bash("ls src/shop"), "list:command", saw("cart.py")),
    again("path in a list", READ_CALC, "list:path", SEEN),
    again("arguments as a text in JSON", ECHO, "twice", ECHOED),
    again("arguments one level too deep", ECHO, "nested", ECHOED),
    again("comma before the end", ECHO, "comma", ECHOED, clue="comma|json|parse"),
    again("line ends that are not escaped", WRITE, "newline", WRITTEN, clue="json|parse|escape"),
    again("fence around the arguments", ECHO, "fence", ECHOED, clue="json|parse"),
    again("label for people", ECHO, 'label:explanation="say it"', ECHOED),
    again("option that is null", READ_CALC, "label:limit=null", SEEN),
    again("option that is empty", ECHO, 'label:workdir=""', ECHOED),
    again("limit in milliseconds", ECHO, "label:timeout=120000", ECHOED, clue="timeout"),
    again("missing content", WRITE, "without:content", WRITTEN),
    again("reply cut off in a file", WRITE, "cut", WRITTEN, clue="cut|limit|trunc|complete|parts"),
    again("arguments without their end", ECHO, "open", ECHOED, clue="json|parse|end|complete"),
    again("call as text, as JSON", ECHO, "hermes", ECHOED),
    again("call as text, as XML", ECHO, "xml", ECHOED),
    again("empty reply after a result", FIX, "empty", FIXED, before=[READ_CALC], clue="."),
    *(lost(*row) for row in LOST),
    Mistake(
        "file that changed since",
        [FIX],
        [READ_CALC, edit("src/calc.py", "def add(a, b, c=0):\n    return a - b", ADD_FIXED)],
        FIXED,
        r"c=0|read it again|modified since",
        [FIX],
        [READ_CALC, bash("sed -i 's/add(a, b)/add(a, b, c=0)/' src/calc.py")],
    ),
    Mistake(
        "alternatives of the older grep",
        [step("grep", pattern=r"MARK-CART\|MARK-NONE", path="src")],
        [step("grep", pattern="MARK-CART|MARK-NONE", path="src")],
        saw("NAME ="),
        r"\||alternat",
        [step("grep", pattern="MARK-CART", path="src")],
    ),
    Mistake(
        "bracket that is not escaped",
        [step("grep", pattern="def sub(", path="src")],
        [step("grep", pattern=r"def sub\(", path="src")],
        saw("def sub("),
        r"escape|paren|\\\(|unclosed|regex",
        [step("grep", pattern="def sub", path="src")],
    ),
    Mistake(
        "match in a line without end",
        [step("grep", pattern="needle", path="web")],
        [bash("grep -o 'needle=.\\{20\\}' web/app.min.js")],
        saw("MARK-MINIFIED"),
        "long|cut|omitted|trunc|exceeds",
        [bash("wc web/app.min.js")],
    ),
    Mistake(
        "editor in the shell",
        [bash("vim src/calc.py")],
        [FIX],
        FIXED,
        "terminal|interactive|tty",
        [READ_CALC],
    ),
    Mistake(
        "server beside the shell",
        [bash(f"{SERVE} & sleep 0.3; echo started"), CURL],
        SERVER,
        SERVED,
        "background: true|run_in_background",
        [bash("ps aux | grep server.py | head -3")],
    ),
    Mistake(
        "commit that opens an editor",
        [bash("echo x >> readme.md; git commit -qa; git log --oneline | head -1")],
        [bash("git commit -qam MARK-COMMIT; git log --oneline | head -1")],
        saw("MARK-COMMIT"),
        "message|editor|terminal",
        [bash("git status --short")],
    ),
    Mistake(
        "program that asks",
        [bash("python3 ask.py")],
        [bash("echo me | python3 ask.py")],
        saw("MARK-HELLO me"),
        "input|EOF",
        [bash("cat ask.py")],
    ),
    Mistake(
        "signal to the parent",
        [bash("kill $PPID; sleep 0.2; echo MARK-ALIVE")],
        [bash("echo MARK-ALIVE")],
        saw("MARK-ALIVE"),
        ".",
        [],
    ),
    Mistake(
        "long output with an error inside",
        [bash("python3 long.py")],
        [bash("python3 long.py | grep -n ERROR")],
        saw("MARK-MIDDLE"),
        "left out|truncated|omitted|full output",
        [bash("python3 long.py | tail -50")],
    ),
)
