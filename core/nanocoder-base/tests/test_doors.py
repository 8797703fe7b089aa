"""A package's stub is the one list of its names; each loads its module when it is first used."""

import importlib
import sys
import zipfile

import pytest

FILES = {
    "corner_shop/__init__.py": (
        "from nanocoder_schema import lazy_exports\n"
        "__all__, __getattr__, __dir__ = lazy_exports(__name__)\n"
    ),
    "corner_shop/__init__.pyi": (
        "from corner_shop.till import total as total\nfrom corner_shop.shelf import Jar as Jar\n"
    ),
    "corner_shop/till.py": "def total(*prices):\n    return sum(prices)\n",
    "corner_shop/shelf.py": "raise RuntimeError('nobody asked for a jar')\n",
}


@pytest.fixture(params=["folder", "zip file"])
def shop(request, tmp_path, monkeypatch):
    place = tmp_path / "site"
    if request.param == "folder":
        for name, text in FILES.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    else:
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in FILES.items():
                archive.writestr(name, text)
    monkeypatch.syspath_prepend(str(place))
    before = set(sys.modules)
    yield importlib.import_module("corner_shop")
    for name in set(sys.modules) - before:
        if name.startswith("corner_shop"):
            del sys.modules[name]


def test_a_name_loads_its_module_when_it_is_first_used_and_no_other_one(shop):
    assert "corner_shop.till" not in sys.modules
    assert shop.total(2, 3) == 5
    assert shop.total is sys.modules["corner_shop.till"].total
    assert "corner_shop.shelf" not in sys.modules


def test_the_names_of_the_stub_are_all_that_the_package_shows(shop):
    assert shop.__all__ == dir(shop) == ["Jar", "total"]
    with pytest.raises(AttributeError, match="module 'corner_shop' has no attribute 'till_total'"):
        shop.till_total  # noqa: B018 - reading it is the test
