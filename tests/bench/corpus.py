"""A large tree to search in: the same bytes wherever and whenever it is made.

    python tests/bench/corpus.py DIRECTORY [--files N] [--bytes N]

Code and prose in nested directories, with what real trees have beside it: ignore files and what
they ignore, binary files, Windows line ends, long lines, hidden directories.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

FILES = 50_000
BYTES = 1_200_000_000
FOLDER_FILES = 40
VERSION = "1"
EXTENSIONS = (".py", ".py", ".ts", ".go", ".rs", ".js", ".md", ".txt", ".json", ".c")
_WORDS = """
request response session buffer handle token parser stream config context value index
record reader writer cache lookup result status message channel worker queue thread lock
event signal socket client server packet header body length offset cursor query table
column field schema model layer vector matrix kernel device driver module import export
return while class struct trait public private static const async await yield break
"""
WORDS = _WORDS.split()
RARE = "quokka_sighting_%03d"
"""Some lines of the tree hold one of these; nothing else does."""


def make(root: Path, *, files: int = FILES, size: int = BYTES) -> None:
    """Make the tree below *root*, unless it is there: *files* of *size* bytes together."""
    done = root / ".corpus"
    label = f"{VERSION} {files} {size}\n"
    if done.is_file() and done.read_text(encoding="utf-8") == label:
        return
    root.mkdir(parents=True, exist_ok=True)
    (root / ".git").mkdir(exist_ok=True)
    (root / ".gitignore").write_text("*.log\n/out/\n__pycache__/\n!keep.log\n", encoding="utf-8")
    chance = random.Random(20_11)
    pool = _pool(chance)
    average = size / files
    for number in range(files):
        path = root / _name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Many small files and a few large ones, as in the wild; their mean is 1.
        wanted = int(average * min(20.0, chance.lognormvariate(-0.72, 1.2)))
        path.write_bytes(_content(number, wanted, pool, chance))
    for folder in _folders(files, every=50):
        (root / folder / ".gitignore").write_text("*.tmp\nlocal_*\n", encoding="utf-8")
        (root / folder / "trace.tmp").write_bytes(pool[:5_000])
    done.write_text(label, encoding="utf-8")


def _name(number: int) -> str:
    folder = number // FOLDER_FILES
    stem = f"{WORDS[number % len(WORDS)]}_{number}"
    if number % 97 == 0:
        return f"{_folder(folder)}/{stem}.log"
    if number % 211 == 0:
        return f"{_folder(folder)}/.hidden/{stem}.txt"
    return f"{_folder(folder)}/{stem}{EXTENSIONS[number % len(EXTENSIONS)]}"


def _folder(number: int) -> str:
    depth = number % 5
    parts = [f"{WORDS[number // 25 % len(WORDS)]}{number // 250}", f"part{number // 25 % 10}"]
    return "/".join([*parts[:depth], f"area{number}"])


def _folders(files: int, *, every: int) -> Iterator[str]:
    for number in range(0, files // FOLDER_FILES, every):
        yield _folder(number)


def _pool(chance: random.Random) -> bytes:
    """Return four million bytes of lines; files are cut out of it."""
    lines = []
    length = 0
    while length < 4_000_000:
        words = chance.choices(WORDS, k=chance.randrange(0, 12))
        number = chance.randrange(100_000)
        form = chance.randrange(6)
        if form == 0:
            line = f"def {'_'.join(words[:3]) or 'main'}_{number}(self, {', '.join(words[3:])}):"
        elif form == 1:
            line = f"    {'.'.join(words[:4])} = {number}  # {' '.join(words[4:])}"
        elif form == 2:
            line = f"\tif {' && '.join(words[:3]) or 'true'} {{ return {number}; }}"
        elif form == 3:
            line = f'        "{" ".join(words)}": 0x{number:x}, // caf\u00e9 na\u00efve'
        else:
            line = " ".join(words)
        lines.append(line)
        length += len(line.encode()) + 1
    return ("\n".join(lines) + "\n").encode()


def _content(number: int, size: int, pool: bytes, chance: random.Random) -> bytes:
    if number % 151 == 0:
        return b"\x7fBIN\0\0" + chance.randbytes(size)
    parts = []
    left = size
    while left > 0:
        start = pool.find(b"\n", chance.randrange(len(pool) // 2)) + 1
        piece = pool[start : start + min(left, len(pool) // 2)]
        parts.append(piece)
        left -= len(piece)
    data = b"".join(parts)
    if number % 31 == 0:
        data = data.replace(b"\n", b"\r\n")
    if number % 499 == 0:
        data += b"x" * 20_000 + b"\n"
    if number % 250 == 7:
        data += (RARE % (number % 1_000)).encode() + b" = seen\n"
    return data if data.endswith(b"\n") or number % 13 == 0 else data + b"\n"


def main() -> None:
    """Make the tree that was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--bytes", type=int, default=BYTES)
    options = parser.parse_args()
    make(options.directory, files=options.files, size=options.bytes)


if __name__ == "__main__":
    main()
