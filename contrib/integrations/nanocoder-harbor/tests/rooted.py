"""An environment of Harbor without containers: a folder that bubblewrap shows as the root."""

import asyncio
import shutil
from pathlib import Path
from typing import override

from harbor.environments.base import BaseEnvironment, ExecResult

SHOWN = ("/usr", "/etc", "/opt")
LINKS = {"/bin": "usr/bin", "/lib": "usr/lib", "/lib64": "usr/lib64", "/sbin": "usr/sbin"}


class Rooted(BaseEnvironment):
    """Runs commands on this machine, which they cannot change; files go through the folder."""

    def __init__(self, *args, shown="", **options):
        super().__init__(*args, **options)
        self._root = self.trial_paths.trial_dir / "root"
        self._shown = [*SHOWN, *filter(None, shown.split(":"))]

    @staticmethod
    @override
    def type():
        return "rooted"

    @override
    def _validate_definition(self):
        pass

    @override
    async def start(self, force_build):
        for name in ("app", "root", "tmp", "logs/agent", "logs/verifier", "logs/artifacts"):
            (self._root / name).mkdir(parents=True, exist_ok=True)
        for link, target in LINKS.items():
            self._here(link).symlink_to(target)

    @override
    async def stop(self, delete):
        shutil.rmtree(self._root, ignore_errors=True)

    def _here(self, path):
        return self._root / str(path).lstrip("/")

    @override
    async def upload_file(self, source_path, target_path):
        self._here(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._here(target_path))

    @override
    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self._here(target_dir), dirs_exist_ok=True)

    @override
    async def download_file(self, source_path, target_path):
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._here(source_path), target_path)

    @override
    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self._here(source_dir), target_dir, dirs_exist_ok=True)

    @override
    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        words = ["bwrap", "--bind", str(self._root), "/", "--dev", "/dev", "--proc", "/proc"]
        for path in self._shown:
            words += ["--ro-bind-try", path, path]
        variables = {
            "HOME": "/root",
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            **(self._merge_env(env) or {}),
        }
        process = await asyncio.create_subprocess_exec(
            *words,
            *(
                "--unshare-pid",
                "--die-with-parent",
                "--chdir",
                cwd or "/app",
                "bash",
                "-c",
                command,
            ),
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await asyncio.wait_for(process.communicate(), timeout_sec or 120)
        return ExecResult(
            stdout=out.decode(), stderr=error.decode(), return_code=process.returncode
        )
