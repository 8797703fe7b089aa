"""Judge which files a command may read, by name or by a search through folders."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from nanocoder import Readable, SessionInfo, ToolError

from nanocoder_policy_rules import paths
from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.readable import OutsideRules
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder import ResolvedPath
    from nanocoder_kit_git import Repository

    from nanocoder_policy_rules.git_content import Content
    from nanocoder_policy_rules.settings import UncheckedSettings as Settings

HERE: Final = "."
MAX_SEARCHED: Final = 20_000
"""A search through more names than this is not checked beforehand, so it asks."""
MAX_LOOKED_AT: Final = 100_000
"""So many names below a folder are looked at before a command in mode auto goes through it."""
_NO_REPOSITORY: Final = "not a git repository"

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

    def is_installed(self, name: str, directory: str) -> bool:
        """Tell whether *name*, started in *directory*, is a program outside of the workspace."""
        ...

    def is_plain_repository(self, directory: str, *, showing: Sequence[str] = ()) -> bool:
        """Tell whether git commands that only read start nothing in *directory*.

        *showing* is a subcommand with its arguments that may show what is in files; then it also
        shows nothing of a file that may not be read.
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

    def is_installed(self, name: str, directory: str) -> bool:  # noqa: ARG002
        """Say that it is."""
        return True

    def is_plain_repository(self, directory: str, *, showing: Sequence[str] = ()) -> bool:  # noqa: ARG002
        """Say that it is."""
        return True


class Reach:
    """Judges what a command that starts in *directory* of a session may read."""

    def __init__(self, session: SessionInfo, settings: "Settings", directory: str) -> None:
        self._session = session
        self._settings = settings
        self._start = HERE if directory == HERE else session.resolve(directory).path
        self._operands: dict[str, ResolvedPath] = {}
        self._leading: dict[tuple[str, str], bool] = {}
        self._histories: dict[tuple[str, tuple[str, ...]], dict[str, str] | Exception] = {}
        root = str(session.cwd)
        self.folder = root if self._start == HERE else os.path.join(root, self._start)
        """Where the command starts."""

    def operand(self, word: str) -> "ResolvedPath":
        """Resolve a word of the command as the program that gets it does."""
        if word not in self._operands:
            self._operands[word] = self._session.resolve(word, self._start, literal=True)
        return self._operands[word]

    def leading(self, words: Iterable[str], folder: str) -> list[str]:
        """Return the *words* that could be paths: one exists, or its name may be protected."""
        answers, is_plain = self._leading, compile_once(_PLAIN_WORD).fullmatch
        leading: list[str] = []
        for word in words:
            place = word, folder
            if (leads := answers.get(place)) is None:  # several steps ask, but the disk only once
                leads = is_plain(word) is None or word.casefold() in _DOTLESS
                leads = answers[place] = leads or exists(f"{folder}/{word}")
            if leads:
                leading.append(word)
        return leading

    @cached_property
    def rules_outside(self) -> OutsideRules:
        """Return the secrets and rules for what lies outside of the workspace."""
        return OutsideRules(self._session, self._settings)

    @cached_property
    def _outside(self) -> Readable:
        return Readable([("policy-rules", self.rules_outside)])

    def refuses(self, path: "ResolvedPath") -> str:
        """Say why *path* may not be read, inside the workspace or outside, by any of its names."""
        if self.is_output(path):
            return ""
        for name in path.names:
            if reason := self._readable(name).refuses(name):
                return reason
        return ""

    def asks(self, path: "ResolvedPath") -> str:
        """Say why a person has to agree before *path* is read."""
        if self.is_output(path):
            return ""
        for name in path.names:
            if reason := self._readable(name).asks(name):
                return reason
        return ""

    def is_hidden(self, word: str) -> bool:
        """Tell whether a rule or the list of secrets keeps a word's file from being read."""
        place = self.operand(word)
        return bool(self.refuses(place) or self.asks(place))

    def hidden_among(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return those of the *names* in *folder*, an absolute path, that may not be read."""
        root, real = os.path.realpath(self._session.cwd), os.path.realpath(folder)
        if real == root or real.startswith(f"{root}/"):
            relative = os.path.relpath(real, root) if real != root else ""
            return self._session.readable.left_out(relative, names, asks=True)
        return self._outside.left_out(real.rstrip("/"), names, asks=True)

    def _readable(self, name: str) -> Readable:
        return self._outside if name[:1] == "/" else self._session.readable

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

    def is_installed(self, name: str, directory: str) -> bool:
        """Tell whether *name*, started in *directory*, is a program outside of the workspace."""
        from nanocoder_policy_rules import interpreters

        return interpreters.is_installed(name, self._session, os.path.join(self.folder, directory))

    def is_plain_repository(self, directory: str, *, showing: Sequence[str] = ()) -> bool:
        """Tell whether git commands that only read start nothing, and show nothing kept back."""
        from nanocoder_kit_git import find_repository, reason_not_plain  # most commands need none

        folder = os.path.realpath(os.path.join(self.folder, directory))
        repository = find_repository(folder)
        if repository is None:
            return not showing  # outside of a repository git goes through the files themselves
        root = os.path.realpath(self._session.cwd)
        if not f"{repository.top}/".startswith(f"{root.rstrip('/')}/"):
            return False  # git shows what is outside of the workspace
        if reason_not_plain(folder) is not None or self.data_of_git(directory):
            return False
        return not showing or not self.hidden_in_git(directory, showing)

    def data_of_git(self, directory: str, *, around: bool = False) -> str:
        """Return where git, in *directory*, takes data from that a command may not read, or "".

        With *around* the workspace may be a folder of a repository around it.
        """
        from nanocoder_kit_git import data_elsewhere

        repository = self._repository(directory)
        if repository is None:
            return ""
        stores = {os.path.realpath(place) for place in (repository.own, repository.common)}
        for place in stores - {os.path.join(repository.top, ".git")}:
            operand = self.operand(place)
            if operand.is_private or self.refuses(operand) or self.asks(operand):
                return place
        root = os.path.realpath(self._session.cwd)
        return data_elsewhere(repository, [root, repository.top] if around else [root])

    def hidden_in_git(
        self, directory: str, words: Sequence[str], *, only_index: bool = False
    ) -> str:
        """Say which file that may not be read git may show, or why that is unknown, or "".

        *words* are a subcommand with its arguments. With *only_index* commits do not count.
        """
        from nanocoder_policy_rules.git_content import Scope, content_of

        repository = self._repository(directory)
        folder = os.path.realpath(os.path.join(self.folder, directory))
        content = content_of(words, folder) if repository is not None else None
        if repository is None or content is None:
            return ""
        tops = [os.path.normpath(os.path.join(folder, path)) for path in content.paths]
        if only_index:
            content = content._replace(scope=Scope.INDEX)
        try:
            paths = self._paths_in_git(repository, content)
            hidden = next(self._hidden_paths(repository.top, paths, tops), "")
        except (ToolError, ValueError) as error:
            if _NO_REPOSITORY in str(error):
                return ""  # the command finds none either
            return f"git may show files of older commits, which cannot be checked: {error}"
        return f"git may show {hidden!r}, which may not be read" if hidden else ""

    def _repository(self, directory: str) -> "Repository | None":
        from nanocoder_kit_git import find_repository

        return find_repository(os.path.join(self.folder, directory))

    def _paths_in_git(self, repository: "Repository", content: "Content") -> Iterable[str]:
        """Return the paths that are shown; raises ToolError, ValueError when that is unknown."""
        from nanocoder_kit_git import objects_of_head, tracked_files

        from nanocoder_policy_rules.git_content import Scope

        tracked, workspace = tracked_files(f"{repository.own}/index"), str(self._session.cwd)
        if content.scope is Scope.INDEX:
            return tracked
        if content.scope is Scope.HEAD:
            objects = objects_of_head(repository.top, workspace=workspace)
        else:
            objects = self._history(repository.top, content.revisions)
            for part in content.hashes:
                if not any(each.startswith(part) for each in objects):
                    raise ValueError(f"no commit that has a name leads to {part!r}")
        paths = {*tracked, *objects.values()} - {""}
        if len(paths) > MAX_LOOKED_AT:
            raise ValueError(f"they have more than {MAX_LOOKED_AT:,} names")
        return paths

    def _history(self, top: str, revisions: tuple[str, ...]) -> dict[str, str]:
        from nanocoder_kit_git import objects_of_history

        key = (top, revisions)
        if key not in self._histories:
            workspace = str(self._session.cwd)
            try:
                self._histories[key] = objects_of_history(top, revisions, workspace=workspace)
            except ToolError as error:
                self._histories[key] = error
        objects = self._histories[key]
        if isinstance(objects, Exception):
            raise objects
        return objects

    def _hidden_paths(
        self, top: str, paths: Iterable[str], folders: Sequence[str]
    ) -> Iterator[str]:
        """Yield those of the *paths* of a repository that may not be read, below *folders*."""
        names: dict[str, dict[str, None]] = {}
        for path in paths:
            place = os.path.join(top, path)
            if folders and not any(f"{place}/".startswith(f"{each}/") for each in folders):
                continue
            parts = path.split("/")
            for at, name in enumerate(parts):
                names.setdefault("/".join(parts[:at]), {})[name] = None
        for folder, each in names.items():
            hidden = self._hidden_names(os.path.join(top, folder) if folder else top, list(each))
            yield from (os.path.join(folder, name) for name in sorted(hidden))

    def _hidden_names(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return the hidden ones among names that a folder has, or had before it became a link."""
        hidden = self.hidden_among(folder, names)
        root = os.path.realpath(self._session.cwd)
        if os.path.realpath(folder) != folder and folder.startswith(f"{root.rstrip('/')}/"):
            relative = os.path.relpath(folder, root)
            hidden |= self._session.readable.left_out(relative, names, asks=True)
        return hidden

    def is_output(self, path: "ResolvedPath") -> bool:
        """Tell whether *path* is the whole output of an earlier call, which may be read."""
        outputs = self._session.outputs
        return outputs is not None and os.path.dirname(path.path) == _real_folder(outputs)

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

    def hidden_below(self, top: str, *, hidden: bool) -> str:
        """Say what below *top*, an absolute path, may not be read; with *hidden* dot files count.

        A rule outside is found by its place, since it may be deep below.
        """
        if reason := self.rules_outside.reason_below(top):
            return reason
        count = 0
        for folder, names, _ in folders_below(top, hidden=hidden):
            count += len(names)
            if left_out := self.hidden_among(folder, names):
                return f"{os.path.join(folder, min(left_out))!r} may not be read"
            if count > MAX_LOOKED_AT:
                return f"there are more than {MAX_LOOKED_AT:,} names below it, too many to check"
        return ""

    def _may_search(self, top: str, *, hidden: bool, links: bool) -> bool:
        root = os.path.realpath(self._session.cwd)
        private = {os.path.realpath(folder) for folder in self._session.own_folders}
        count = 0
        for folder, names, has_links in folders_below(top, hidden=hidden):
            if links and has_links:
                return False
            count += len(names)
            relative = os.path.relpath(folder, root) if folder != root else ""
            left_out = self._session.readable.left_out(relative, names, asks=True)
            if left_out or folder in private or count > MAX_SEARCHED:
                return False
        return True


@lru_cache(maxsize=16)
def _real_folder(folder: Path) -> str:
    """Return where *folder* is; a link that takes its place later leads to no output."""
    return os.path.realpath(folder)


def exists(path: str) -> bool:
    """Tell whether something is at *path*, a link that leads nowhere included."""
    # `lexists` takes twice as long where there is nothing, and most words lead nowhere.
    if os.access in os.supports_follow_symlinks and "\0" not in path:
        return os.access(path, os.F_OK, follow_symlinks=False)
    return os.path.lexists(path)


def folders_below(top: str, *, hidden: bool) -> Iterator[tuple[str, list[str], bool]]:
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
