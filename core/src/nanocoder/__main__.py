"""`python -m nanocoder`: the command line, without the current directory among what can be imported."""

import sys

from nanocoder.plugins.discovery import drop_untrusted_paths

if __name__ == "__main__":
    drop_untrusted_paths(sys.path)
    from nanocoder.cli import main

    main()
