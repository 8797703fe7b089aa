"""One digest of a whole directory: names, kinds, modes, links and bytes."""

import hashlib
import os
from pathlib import Path


def tree_digest(folder: Path | str) -> str:
    """Return a digest of everything below *folder*, including empty directories."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")):
        status = path.lstat()
        digest.update(f"{path.relative_to(folder)}\0{status.st_mode:o}\0".encode(errors="replace"))
        if path.is_symlink():
            digest.update(os.fsencode(os.readlink(path)))
        elif path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
