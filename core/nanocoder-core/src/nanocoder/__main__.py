"""`python -P -m nanocoder`: the command line. Without -P, Python looks here first, before us."""

if __name__ == "__main__":
    from nanocoder.cli import main

    main()
