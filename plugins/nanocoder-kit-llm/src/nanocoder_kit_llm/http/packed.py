"""Bodies that a server packed although it was asked not to."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from nanocoder import ProviderError

from nanocoder_kit_llm.http.failures import FinalError

PIECE_BYTES: Final = 64 * 1024
FREE_BYTES: Final = 1024 * 1024
LARGEST_RATIO: Final = 200
"""Streams of events, which repeat themselves, come to 40; a bomb comes to 1,000."""
_GZIP_OR_ZLIB: Final = 47


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress *chunks* piece by piece; raises ProviderError for damage and zip bombs."""
    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    packed = size = 0
    for chunk in chunks:
        packed += len(chunk)
        for piece in _pieces(decoder, chunk):
            size += len(piece)
            if size > FREE_BYTES and size > packed * LARGEST_RATIO:
                raise FinalError("the answer unpacks to far more than it is", kind="protocol")
            yield piece


def _pieces(decoder: "zlib._Decompress", chunk: bytes) -> Iterator[bytes]:
    while chunk:
        try:
            piece = decoder.decompress(chunk, PIECE_BYTES)
        except zlib.error as error:
            raise ProviderError(f"the packed answer is damaged: {error}", kind="network") from error
        chunk = decoder.unconsumed_tail
        if piece:
            yield piece
