"""`python -m nanocoder`: the command line, with the current directory out of the way."""

if __name__ == "__main__":
    from nanocoder.cli import main

    main()
