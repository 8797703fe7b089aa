"""The environment of a child, built for each: known names, minus what looks secret."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

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

SECRET_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|AUTH|PRIVATE|SIGNATURE|_PAT$|_DSN$",
    re.IGNORECASE,
)
SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|://[^/\s:@]*:[^/\s@]+@"  # a password in an address
    r"|\bgh[pousr]_\w{20}|\bgithub_pat_\w{20}|\bglpat-[\w-]{16}|\bnpm_\w{30}|\bpypi-\w{16}"
    r"|\bsk-[\w-]{16}|\bsk_live_\w{16}|\bAKIA[0-9A-Z]{16}|\bASIA[0-9A-Z]{16}|\bAIza[\w-]{30}"
    r"|\bxox[abeprs]-[\w-]{10}|\bhf_\w{30}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
# What makes a program load code before it does its work; never handed on, whoever names it.
LOADERS: Final = re.compile(
    r"LD_.*|DYLD_.*|BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|IFS|CDPATH|GLOBIGNORE"
    r"|PROMPT_COMMAND|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PYTHONINSPECT|PERL5OPT|PERL5LIB|PERL5DB"
    r"|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS"
    r"|GIT_EXTERNAL_DIFF|GIT_SSH.*|GIT_ASKPASS|GIT_PAGER|GIT_PROXY_COMMAND|GIT_CONFIG.*|GIT_EXEC_PATH"
    r"|GCONV_PATH|LESSOPEN|LESSCLOSE|RIPGREP_CONFIG_PATH"
)
# Nobody is there to answer, scroll or edit.
FIXED: Final = MappingProxyType(
    {
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "EDITOR": "true",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "CI": "true",
        "DEBIAN_FRONTEND": "noninteractive",
    }
)
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(ours: Mapping[str, str], wanted: Collection[str] = ()) -> dict[str, str]:
    """Return what a child gets of *ours*; names in *wanted* pass even when they look secret."""
    env = {name: value for name, value in ours.items() if _passes(name, value, wanted)}
    env["PATH"] = _absolute(env.get("PATH", "")) or SYSTEM_PATH
    return env | FIXED


def _passes(name: str, value: str, wanted: Collection[str]) -> bool:
    if LOADERS.fullmatch(name):
        return False
    if name in wanted:
        return True
    if name not in NAMES and not name.startswith(PREFIXES):
        return False
    return not (SECRET_NAME.search(name) or SECRET_VALUE.search(value))


def _absolute(path: str) -> str:
    """Drop relative and empty entries: they would run programs that lie in the workspace."""
    return ":".join(entry for entry in path.split(":") if entry.startswith("/"))
