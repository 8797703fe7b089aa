"""The environment of a child, built for each: known names without likely secrets."""

import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from nanocoder_kit_files.redact import Redactor, is_secret_name

NAMES: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("LANG", "LANGUAGE", "COLUMNS", "LINES"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYTHONUTF8"),
        *("JAVA_HOME", "ANDROID_HOME", "GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOPROXY"),
        *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "VOLTA_HOME"),
        *("PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "RBENV_ROOT", "GEM_HOME", "DOTNET_ROOT"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("PIP_CERT", "NODE_EXTRA_CA_CERTS", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_CACHE_DIR"),
        *("KUBECONFIG", "DOCKER_HOST", "SOURCE_DATE_EPOCH", "WSL_DISTRO_NAME"),
    }
)
PREFIXES: Final = ("LC_", "XDG_")
ADDRESSES: Final = re.compile(r".*_PROXY|PIP_INDEX_URL|UV_INDEX_URL|GOPROXY", re.IGNORECASE)
"""Variables with addresses; text before an @ in them is a user name or a token."""

# These make a program load code before its own; a child never gets them, even in *allowed*.
LOADERS: Final = re.compile(
    r"LD_.*|DYLD_.*|BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|IFS|CDPATH|GLOBIGNORE"
    r"|PROMPT_COMMAND|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PYTHONINSPECT|PERL5OPT|PERL5LIB|PERL5DB"
    r"|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS"
    r"|GIT_EXTERNAL_DIFF|GIT_SSH.*|GIT_ASKPASS|GIT_PAGER|GIT_PROXY_COMMAND|GIT_CONFIG.*|GIT_EXEC_PATH"
    r"|GCONV_PATH|LESSOPEN|LESSCLOSE|RIPGREP_CONFIG_PATH"
)
# There is no person to answer, scroll or edit. CI is not included: with it version managers such as
# mise trust the files of any project, and run their commands.
FIXED: Final = MappingProxyType(
    {
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "EDITOR": "true",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
    }
)
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REDACTOR: Final = Redactor({})


def environment(
    ours: Mapping[str, str], allowed: Collection[str] = (), *, workspace: Path | None = None
) -> dict[str, str]:
    """Return the part of *ours* for a child; names in *allowed* pass even if they seem secret.

    The virtual environment of nanocoder itself is left out, unless it is that of *workspace*, by
    default the current directory, or a user has activated it.
    """
    env = {name: value for name, value in ours.items() if _passes(name, value, allowed)}
    hidden = _own_environment(ours, workspace or Path.cwd())
    env["PATH"] = _clean_path(env.get("PATH", ""), hidden) or SYSTEM_PATH
    if hidden is not None and _is_same(env.get("VIRTUAL_ENV", ""), hidden):
        del env["VIRTUAL_ENV"]
    return env | FIXED


def _passes(name: str, value: str, allowed: Collection[str]) -> bool:
    if LOADERS.fullmatch(name):
        return False
    if name in allowed:
        return True
    if name not in NAMES and not name.startswith(PREFIXES):
        return False
    if "@" in value and ADDRESSES.fullmatch(name):
        return False
    return not (is_secret_name(name) or _REDACTOR.holds_secret(value))


def _clean_path(path: str, hidden: Path | None) -> str:
    """Drop relative and empty entries, which are in the workspace, and the programs of *hidden*."""
    entries = [entry for entry in path.split(":") if entry.startswith("/")]
    if hidden is not None:
        programs = os.path.realpath(hidden / "bin")
        entries = [entry for entry in entries if os.path.realpath(entry) != programs]
    return ":".join(entries)


def _own_environment(ours: Mapping[str, str], workspace: Path) -> Path | None:
    """Return the virtual environment of nanocoder if a command must not get it.

    `uv run --project CLONE nanocoder` puts it first on PATH, where it would hide the user's own.
    """
    if sys.prefix == sys.base_prefix:
        return None
    prefix = Path(sys.prefix).resolve()
    if workspace.resolve().is_relative_to(prefix.parent):
        return None  # the project's own .venv, wherever below the project nanocoder was started
    is_activated = "UV_RUN_RECURSION_DEPTH" not in ours and _is_same(
        ours.get("VIRTUAL_ENV", ""), prefix
    )
    # An environment beside a pyproject.toml belongs to another project.
    if is_activated and not (prefix.parent / "pyproject.toml").exists():
        return None
    return prefix


def _is_same(entry: str, folder: Path) -> bool:
    return bool(entry) and os.path.realpath(entry) == os.path.realpath(folder)
