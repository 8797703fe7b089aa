import base64

import pytest
from nanocoder_kit_files.text import picture_problem

PICTURES = {
    "image/png": (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
    ),
    "image/gif": "R0lGODdhAQABAIEAAP8AAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw==",
    "image/webp": "UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA",
    "image/jpeg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP///////////////////////////////////////////////////////////"
        "///////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAA"
        "AAAAAAAAD/2gAIAQEAAD8AN//Z"
    ),
}
WHOLE = {media_type: base64.b64decode(text) for media_type, text in PICTURES.items()}
each = pytest.mark.parametrize(("media_type", "data"), WHOLE.items())


@pytest.mark.contract("A3")
@each
def test_a_whole_picture_has_no_problem(media_type, data):
    assert picture_problem(data, media_type) == ""
    assert picture_problem(b"anything", "image/svg+xml") == ""


@pytest.mark.contract("A3")
@each
def test_a_picture_that_is_cut_short_is_found_wherever_it_ends(media_type, data):
    last = len(data) - 1 if media_type != "image/gif" else len(data) - 2  # programs do without it
    for end in range(last):
        assert picture_problem(data[:end], media_type), end


@pytest.mark.contract("A3")
@pytest.mark.parametrize(
    ("media_type", "data", "problem"),
    [
        ("image/png", WHOLE["image/gif"], "it is no valid PNG: it begins otherwise"),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\x10" + b"J" * 40, "byte 20 begins no segment"),
        ("image/gif", b"GIF89a" + b"\1\0\1\0\0\0\0" + b";", "it has no pixels"),
        ("image/webp", b"RIFF\4\0\0\0WEBP", "it has no pixels"),
    ],
)
def test_a_picture_of_another_kind_or_with_damage_is_described(media_type, data, problem):
    assert problem in picture_problem(data, media_type)
