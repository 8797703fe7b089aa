"""`python -m nanocoder`: the command line, with the current directory out of the way."""

import sys

from nanocoder.plugins.discovery import drop_untrusted_paths

if __name__ == "__main__":
    drop_untrusted_paths(sys.path)
    from nanocoder.cli import main

    main()
