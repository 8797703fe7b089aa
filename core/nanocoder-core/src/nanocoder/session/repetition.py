"""A model that is stuck writes the same passage over and over."""

REPEATED_CHARS = 2_000
"""So much of the end of a text must be repetition; less may be a table or a banner."""
MAX_PERIOD_CHARS = 2_000
REPEATS = 3


def repeats_itself(text: str, least: int = REPEATED_CHARS) -> bool:
    """Tell whether *text* ends in one passage over and over, over *least* characters or more.

    The passage may have up to 2,000 characters. The work is bounded, however long the text is.
    """
    tail = text[-max(least, REPEATS * MAX_PERIOD_CHARS) :][::-1]
    if len(tail) < least:
        return False
    # The failure function of Knuth, Morris and Pratt: its gaps are the periods of each beginning.
    borders = [0] * len(tail)
    border = 0
    for place in range(1, len(tail)):
        letter = tail[place]
        while border and letter != tail[border]:
            border = borders[border - 1]
        border += letter == tail[border]
        borders[place] = border
        size, period = place + 1, place + 1 - border
        if size >= least and size >= REPEATS * period and period <= MAX_PERIOD_CHARS:
            return True
    return False
