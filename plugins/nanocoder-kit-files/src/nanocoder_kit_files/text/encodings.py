"""Detection of the encoding of bytes that are not UTF-8."""

import re
from collections.abc import Iterator

SAMPLE_BYTES = 16_000
LEAST_BYTES = 2_000
"""A shorter sample is repeated: the detector judges by frequencies."""
MOST_CHAOS = 0.4
MOST_HANJA = 0.25
_HANGUL, _HANJA = "[\uac00-\ud7a3]", "[\u4e00-\u9fff]"
WESTERN = "cp1252"
# Candidates for charset-normalizer, the likelier first for ties.
_FOREIGN = (
    *("gb18030", "cp932", "euc_jp", "big5", "cp949"),
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
)
_BEYOND_ASCII = rb"[\x80-\xff]+"
# A single non-ASCII letter or sign, as in Western text; other languages have runs of such bytes.
_SINGLE = rb"(?<![\x80-\xff])[\x80\x85\x91-\x97\x99\xa0-\xff](?![\x80-\xff])"
_LINE = rb"[^\n]*[\x80-\xff][^\n]*\n?"
_BREAK = rb"(?s)(.*[\x00-\x3f])"  # no character of two bytes ends in one of these


def legacy_encodings(data: bytes) -> Iterator[str]:
    """Yield the encodings that *data*, which is not UTF-8, may have, the likeliest first.

    Each gives back the same bytes; the last, latin-1, fits all. Which one is right is a guess.
    """
    # GBK is the older part of GB18030; other programs may know only that.
    first = guess_encoding(data)
    for name in ("gbk", "gb18030") if first == "gb18030" else (first, WESTERN):
        if _survives(data, name):
            yield name
    yield "latin-1"


def guess_encoding(data: bytes) -> str:
    """Return the encoding that *data*, or the beginning of it, most likely has; it is not UTF-8."""
    sample = _sample(data)
    beyond_ascii = sum(map(len, re.findall(_BEYOND_ASCII, sample)))
    if 2 * len(re.findall(_SINGLE, sample)) > beyond_ascii or not sample:
        return WESTERN
    from charset_normalizer import from_bytes  # 20 ms, and few files need it

    # Read as Korean, Chinese text is a mixture that no Korean writes.
    possible = [name for name in _FOREIGN if name != "cp949" or _is_korean(sample)]
    repeated = sample * max(1, LEAST_BYTES // len(sample))
    matches = from_bytes(repeated, cp_isolation=possible, threshold=MOST_CHAOS)
    ranked = ((each.chaos, -each.coherence, _FOREIGN.index(each.encoding)) for each in matches)
    return min(((*rank, _FOREIGN[rank[-1]]) for rank in ranked), default=(WESTERN,))[-1]


def _is_korean(sample: bytes) -> bool:
    """Return True if *sample* has Korean syllables, the usual ones, and few Chinese characters."""
    try:
        text = sample.decode("euc_kr")
    except UnicodeError:
        return False
    return MOST_HANJA * len(re.findall(_HANGUL, text)) > len(re.findall(_HANJA, text))


def _sample(data: bytes) -> bytes:
    """Return the first lines that are not ASCII, cut where no character is."""
    sample = b""
    for line in re.finditer(_LINE, data):
        sample += line[0][:SAMPLE_BYTES]
        if len(sample) >= SAMPLE_BYTES:
            match = re.match(_BREAK, sample[:SAMPLE_BYTES])
            return match[1] if match else sample
    return sample


def _survives(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).encode(encoding) == data
    except UnicodeError:
        return False
