"""Judge which files a command may read, by name or by a search through folders."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from nanocoder import SessionInfo

from nanocoder_policy_rules import paths
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.settings import UncheckedSettings as Settings

HERE: Final = "."
MAX_SEARCHED: Final = 20_000
"""A search through more names than this is not checked beforehand, so it asks."""

# Protected names have a dot or a sign in them, except for these.
_PLAIN_WORD = r"[A-Za-z0-9_+%^\\-]*"
_DOTLESS: Final = frozenset(("jenkinsfile",))


class Reading(Protocol):
    """Tells what may be read; paths are as in the command, directories as given to `cd`."""

    def may_read(self, path: str, directory: str) -> bool:
        """Tell whether the contents of a file, or the names in a folder, may be read."""
        ...

    def may_search(self, path: str, directory: str, *, hidden: bool, follows: bool = False) -> bool:
        """Tell whether all files below a folder may be read; with *hidden* the hidden ones, too.

        With *follows* the command follows links.
        """
        ...


class Anywhere:
    """Allows every path: for questions about a command in which its paths do not matter."""

    def may_read(self, path: str, directory: str) -> bool:  # noqa: ARG002
        """Allow it."""
        return True

    def may_search(
        self,
        path: str,  # noqa: ARG002
        directory: str,  # noqa: ARG002
        *,
        hidden: bool,  # noqa: ARG002
        follows: bool = False,  # noqa: ARG002
    ) -> bool:
        """Allow it."""
        return True


class Reach:
    """Judges what a command that starts in *directory* of a session may read."""

    def __init__(self, session: SessionInfo, settings: "Settings", directory: str) -> None:
        self._session = session
        self._settings = settings
        self._start = HERE if directory == HERE else session.resolve(directory).path
        self._operands: dict[str, ResolvedPath] = {}
        self.folder = os.path.join(session.cwd, self._start)
        """Where the command starts."""

    def operand(self, word: str) -> "ResolvedPath":
        """Resolve a word of the command as the program that gets it does."""
        if word not in self._operands:
            self._operands[word] = self._session.resolve(word, self._start, literal=True)
        return self._operands[word]

    def places(
        self, words: Iterable[str], directories: Iterable[str]
    ) -> "Iterator[tuple[str, ResolvedPath]]":
        """Yield *words* with the paths that they name, from the start or a `cd` to *directories*.

        Words that name nothing existing or protected are left out, as most words do.
        """
        several = list(words)
        for word in several:
            if _could_lead(word, self.folder):
                yield word, self.operand(word)
        for directory in directories:
            for word in several:
                yield word, self.operand(os.path.join(directory, word))

    def may_read(self, path: str, directory: str) -> bool:
        """Tell whether a command may read *path* of *directory*: inside, and no rule forbids it.

        *directory* is the argument of a `cd`. A shell removes `link/..` from it as text, but
        programs follow the link, so both readings have to be allowed.
        """
        return all(self._may_read(each) for each in self._ways(path, directory))

    def may_search(self, path: str, directory: str, *, hidden: bool, follows: bool = False) -> bool:
        """Tell whether a command may read everything below *path*.

        With *hidden* it reads hidden files, too. A program that *follows* links may not read where
        there is a link, since it could lead anywhere.
        """
        if not self.may_read(path, directory):
            return False
        folders = {each.places[-1] for each in self._ways(path, directory)}
        return all(self._may_search(folder, hidden=hidden, links=follows) for folder in folders)

    def is_output(self, path: "ResolvedPath") -> bool:
        """Tell whether *path* is the whole output of an earlier call, which may be read."""
        outputs = self._session.outputs
        return outputs is not None and os.path.dirname(path.path) == os.path.realpath(outputs)

    def _ways(self, path: str, directory: str) -> "list[ResolvedPath]":
        joined = os.path.join(directory, path) if directory != HERE else path
        ways = {joined}
        if ".." in joined:
            by_letters = os.path.normpath(directory)
            ways |= {os.path.normpath(joined), os.path.join(by_letters, path)}
        return [self.operand(way) for way in ways]

    def _may_read(self, path: "ResolvedPath") -> bool:
        if self.is_output(path):
            return True
        settings, readable = self._settings, self._session.readable
        if not path.is_inside or path.is_private:
            return False
        if paths.secret(path.names, settings.all_secrets, settings.all_not_secrets):
            return False
        return not any(readable.refuses(name) or readable.asks(name) for name in path.names)

    def _may_search(self, top: str, *, hidden: bool, links: bool) -> bool:
        root = os.path.realpath(self._session.cwd)
        private = {os.path.realpath(folder) for folder in self._session.own_folders}
        count = 0
        for folder, names, has_links in _folders(top, hidden=hidden):
            if links and has_links:
                return False
            count += len(names)
            relative = os.path.relpath(folder, root) if folder != root else ""
            left_out = self._session.readable.left_out(relative, names, asks=True)
            if left_out or folder in private or count > MAX_SEARCHED:
                return False
        return True


def _could_lead(word: str, folder: str) -> bool:
    """Tell whether a word could be a path: it exists, or its name may be protected."""
    if compile_once(_PLAIN_WORD).fullmatch(word) is None or word.casefold() in _DOTLESS:
        return True
    return os.path.lexists(os.path.join(folder, word))


def _folders(top: str, *, hidden: bool) -> Iterator[tuple[str, list[str], bool]]:
    """Yield the folders from *top* down with the names in each, and whether one is a link."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = [each for each in entries if hidden or not each.name.startswith(".")]
        except OSError:  # a file, missing, or unreadable for us and so for the command
            continue
        waiting += [each.path for each in listed if each.is_dir(follow_symlinks=False)]
        yield folder, [each.name for each in listed], any(each.is_symlink() for each in listed)
