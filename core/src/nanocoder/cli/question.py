"""A question to whoever sits at the terminal."""


def is_agreed(question: str) -> bool:
    """Ask for a yes; anything else is a no, an end of input too."""
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except EOFError:
        return False
