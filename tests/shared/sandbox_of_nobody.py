"""A sandbox as a user without rights starts it, for the tests that root runs."""

import subprocess
import tempfile

from nanocoder import Access

NOBODY = 65_534


class OfNobody:
    """Comes before the class of a sandbox, which root makes and that user starts."""

    def __init__(self, session, settings):
        """Give the workspace back, for the sandbox is made by root."""
        self.root = session.cwd.parent
        self.give("0:0")
        super().__init__(session, settings)

    def give(self, owner):
        """Make *owner* the one of the workspace and of the session's own files."""
        subprocess.run(["chown", "-R", owner, self.root, tempfile.gettempdir()], check=True)

    def wrap(self, argv, ports, access=Access.WRITE):
        """Return the argv that runs *argv* inside as that user."""
        wrapped = super().wrap(argv, ports, access)
        self.give(f"{NOBODY}:{NOBODY}")
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *wrapped]
