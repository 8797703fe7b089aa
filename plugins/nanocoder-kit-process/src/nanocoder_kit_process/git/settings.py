"""The settings of a repository: parsed strictly, and compared with an allowlist."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_SECTION: Final = re.compile(
    r'[ \t]*\[(?P<name>[A-Za-z0-9.-]+)(?:[ \t]+"(?P<sub>(?:[^"\\]|\\.)*)")?\][ \t]*(?:[#;].*)?'
)
_VARIABLE: Final = re.compile(r"[ \t]*(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(?P<value>.*))?")
_EMPTY: Final = re.compile(r"[ \t]*(?:[#;].*)?")

_PLAIN: Final = {
    "branch": "description github-pr-owner-number merge mergeoptions pushremote rebase remote"
    " vscode-merge-base",
    "remote": "fetch followremotehead mirror prune prunetags push pushurl skipdefaultupdate"
    " skipfetchall tagopt url",
    "advice": "*",
    "color": "*",
    "column": "*",
    "user": "email name signingkey useconfigonly",
    "author": "email name",
    "committer": "email name",
    "core": "abbrev autocrlf bigfilethreshold checkstat commentchar compression deltabasecachelimit"
    " eol filemode fscache hidedotfiles ignorecase ignorestat logallrefupdates loosecompression"
    " longpaths maxtreedepth multipackindex packedgitlimit packedgitwindowsize precomposeunicode"
    " preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf"
    " sharedrepository sparsecheckout sparsecheckoutcone symlinks trustctime"
    " untrackedcache usereplacerefs warnambiguousrefs whitespace commitgraph",
    "extensions": "noop worktreeconfig",
    "apply": "ignorewhitespace whitespace",
    "blame": "coloring date",
    "checkout": "defaultremote guess",
    "commit": "status verbose cleanup",
    "diff": "algorithm colormoved colormovedws context indentheuristic interhunkcontext"
    " mnemonicprefix noprefix renamelimit renames statgraphwidth suppressblankempty",
    "feature": "experimental manyfiles",
    "fetch": "prune prunetags parallel output writecommitgraph",
    "format": "pretty",
    "gc": "auto autodetach autopacklimit logexpiry packrefs pruneexpire reflogexpire"
    " reflogexpireunreachable worktreepruneexpire",
    "grep": "column extendedregexp fullname linenumber patterntype",
    "http": "postbuffer",
    "index": "sparse threads version skiphash",
    "init": "defaultbranch",
    "lfs": "repositoryformatversion",
    "log": "abbrevcommit date decorate follow graphcolors mailmap showroot",
    "maintenance": "auto autodetach strategy",
    "merge": "conflictstyle ff renames renamelimit stat log directoryrenames",
    "pack": "threads windowmemory compression writereverseindex usebitmaps usesparse",
    "pull": "ff rebase",
    "push": "autosetupremote default followtags",
    "rebase": "abbreviatecommands autosquash autostash stat updaterefs missingcommitscheck",
    "rerere": "autoupdate enabled",
    "stash": "showpatch showstat",
    "status": "aheadbehind branch displaycommentprefix relativepaths renames renamelimit short"
    " showstash showuntrackedfiles",
    "tag": "sort",
    "versionsort": "suffix",
}
"""The keys of each section that start no program, and name no further file or repository."""
_KEYS: Final = {section: frozenset(keys.split()) for section, keys in _PLAIN.items()}
_FALSE: Final = frozenset(("false", "no", "off", "0"))
_VALUES: Final = {
    "core.bare": _FALSE,
    "core.fsmonitor": _FALSE,
    "core.splitindex": _FALSE,
    "commit.gpgsign": _FALSE,
    "tag.gpgsign": _FALSE,
    "extensions.objectformat": frozenset(("sha1",)),
}
"""Settings that start nothing with these values."""


class Setting(NamedTuple):
    """One line of a file of settings; *key* is without a quoted subsection."""

    section: str
    key: str
    value: str

    @property
    def name(self) -> str:
        """The section and the key, as in "core.bare"."""
        return f"{self.section}.{self.key}"


def read_settings(content: bytes) -> Iterator[Setting]:
    """Yield the settings in *content*; raises ValueError for a line that git may read otherwise."""
    if b"\0" in content:
        raise ValueError("it holds a NUL")
    section = ""
    text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.removesuffix("\r")
        if _EMPTY.fullmatch(bare):
            continue
        if header := _SECTION.fullmatch(bare):
            section = header["name"].lower()
            continue
        variable = _VARIABLE.fullmatch(bare)
        # A backslash at the end continues the value on the next line.
        if variable is None or bare.endswith("\\"):
            raise ValueError(f"line {number} is not plain")
        yield Setting(section, variable["key"].lower(), (variable["value"] or "").strip(" \t"))


def setting_that_starts(content: bytes) -> str:
    """Return the name of a setting that is not on the allowlist, or the parse error, or ""."""
    try:
        return next((each.name for each in read_settings(content) if not _is_plain(each)), "")
    except ValueError as error:
        return f"one that is not readable: {error}"


def _is_plain(setting: Setting) -> bool:
    if setting.name in _VALUES:
        return setting.value.lower() in _VALUES[setting.name]
    section = setting.section.partition(".")[0]
    keys = _KEYS.get(section, frozenset())
    # "ext::program" starts a program; any "name::" starts one that is called git-remote-name.
    return ("*" in keys or setting.key in keys) and "::" not in setting.value
