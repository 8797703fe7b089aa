"""Where a path leads, exactly: these tests are what mutants of the resolving of paths meet."""

import contextlib
import itertools
import os
import shutil
import sys
import unicodedata

import pytest
from nanocoder_files import resolution
from nanocoder_files.beneath import LISTING, Beneath
from nanocoder_files.paths import MAX_PATH_BYTES
from nanocoder_files.private_files import closing_file
from nanocoder_files.protected import PROGRAM, STATE, ProtectionKind
from nanocoder_files.resolution import Resolver, Trace, resolver


@pytest.fixture
def ws(tmp_path):
    """A workspace with links, beside a place outside."""
    root = tmp_path / "ws"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("x")
    (root / "link").symlink_to("a/b")
    (root / "twice").symlink_to("link")
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("missing/deep")
    (root / "abs").symlink_to(root / "a")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").write_text("x")
    (tmp_path / "out/link").symlink_to("file")
    (tmp_path / "alias").symlink_to(root)
    return root


@pytest.mark.parametrize(
    ("path", "directory", "names", "exists"),
    [
        (".", ".", (".",), True),
        ("", ".", (".",), True),
        ("a", ".", ("a",), True),
        ("a/b/file", ".", ("a/b/file",), True),
        ("./a//b/", ".", ("a/b",), True),
        ("b/file", "a", ("a/b/file",), True),
        ("file", "link", ("link/file", "a/b/file"), True),
        ("link/file", ".", ("link/file", "a/b/file"), True),
        ("twice/file", ".", ("twice/file", "link/file", "a/b/file"), True),
        ("twice", ".", ("twice", "link", "a/b"), True),
        ("abs/b", ".", ("abs/b", "a/b"), True),
        ("a/../a/b", ".", ("a/b",), True),
        ("a/..", ".", (".",), True),
        ("link/..", ".", ("a",), True),
        ("link/../x", ".", ("a/x",), False),
        ("new", ".", ("new",), False),
        ("new/deep/x", ".", ("new/deep/x",), False),
        ("new/../a", ".", ("a",), True),
        ("new/../a/b/file", ".", ("a/b/file",), True),
        ("new/deep/er/../x", ".", ("new/deep/x",), False),
        ("gone", ".", ("gone", "missing/deep"), False),
        ("gone/x", ".", ("gone/x", "missing/deep/x"), False),
        ("gone/../x", ".", ("missing/x",), False),
        ("a/b/file/x", ".", ("a/b/file/x",), False),
        ("loop", ".", ("loop",), False),
        ("loop/x", ".", ("loop/x",), False),
        ("a\\x0a", ".", ("a\n",), False),
    ],
)
def test_every_name_on_the_way_is_told(ws, path, directory, names, exists):
    resolved = Resolver(str(ws)).resolve(path, directory)
    assert resolved.is_inside
    assert resolved.exists is exists
    assert resolved.names == names
    assert resolved.path == names[-1]
    places = tuple(f"{ws}/{name}" if name != "." else str(ws) for name in names)
    assert resolved.places == places
    assert resolved.place == places[-1]


def test_a_name_is_resolved_to_the_form_of_its_letters_that_is_there(ws):
    composed, split = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    (ws / split).mkdir()
    (ws / split / "file").write_text("x")
    resolved = Resolver(str(ws)).resolve(f"{composed}/file")
    assert (resolved.path, resolved.exists) == (f"{split}/file", True)
    assert Resolver(str(ws)).resolve(f"{composed}/new").path == f"{split}/new"


def test_a_loop_is_named_as_it_is_spelled(ws):
    assert Resolver(str(ws)).resolve("loop/../x/y").names == ("x/y",)
    resolved = Resolver(str(ws)).resolve("loop/x/y")
    assert resolved.names == ("loop/x/y",)
    (ws / "to-loop").symlink_to("loop")
    assert Resolver(str(ws)).resolve("to-loop/x").names == ("to-loop/x", "loop/x")


def test_a_path_is_resolved_without_a_walk_only_where_the_walk_says_the_same(ws):
    (ws / "pyvenv.cfg").touch()
    (ws / "a/pyvenv.cfg").symlink_to("missing")
    (ws / "closed").mkdir(mode=0)
    names = ["a", "b", "file", "link", "twice", "loop", "gone", "abs", "up", "new", "closed", "bin"]
    names += [".", "..", ".git", "pyvenv.cfg", "a\\x0a", "\0", "n" * 256]
    resolver = Resolver(str(ws))
    with closing_file(os.open(ws, LISTING)) as fd:
        beneath = Beneath(fd, str(ws))
        for parts in itertools.product(names, repeat=3):
            path = "/".join(parts)
            for literal in (True, False) if "\\" in path else (True,):
                walked = resolver.beneath(beneath, path, literal=literal)
                assert resolver.resolve(path, literal=literal) == walked, path


@pytest.mark.parametrize("path", ["a/b/file", "a/b/file/x", "new/x", "new", ".", "./a", "a\\x0a"])
def test_a_plain_path_is_resolved_without_a_walk_and_joined_to_nothing(ws, monkeypatch, path):
    resolver = Resolver(str(ws))
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr(os.path, "join", None)
    assert resolver.resolve(path, literal=True).is_inside
    if "\\" not in path:
        assert resolver.resolve(path).is_inside


def test_without_a_workspace_a_plain_path_is_outside(ws):
    resolver = Resolver(str(ws / "a"))
    assert resolver.resolve("b").is_inside
    shutil.rmtree(ws / "a")
    assert not resolver.resolve("b").is_inside
    assert not resolver.resolve(".").is_inside


@pytest.mark.parametrize(
    ("path", "names", "exists"),
    [
        ("..", ("{top}",), True),
        ("../out/file", ("{top}/out/file",), True),
        ("../out/link", ("{top}/out/link", "{top}/out/file"), True),
        ("../out/new", ("{top}/out/new",), False),
        ("up/out/file", ("up/out/file", "{top}/out/file"), True),
        ("up/ws/a", ("up/ws/a", "a"), True),
        ("../ws/a", ("a",), True),
        ("../ws", (".",), True),
        ("/", ("/",), True),
        ("/..", ("/",), True),
        ("/../../{top}/out", ("{top}/out",), True),
        ("{top}/out/../out/file", ("{top}/out/file",), True),
        ("../ws-evil/x", ("{top}/ws-evil/x",), False),
    ],
)
def test_outside_names_are_absolute(ws, path, names, exists):
    top = ws.parent
    resolved = Resolver(str(ws)).resolve(path.format(top=top))
    expected = tuple(name.format(top=top) for name in names)
    assert resolved.names == expected
    assert resolved.is_inside is False
    assert resolved.exists is exists
    places = [
        name if name[0] == "/" else str(ws) if name == "." else f"{ws}/{name}" for name in expected
    ]
    assert resolved.places == tuple(places)
    assert resolved.place == places[-1]


def test_escapes_are_read_unless_they_are_literal(ws):
    outside = f"{ws.parent}/out/n\nm"
    for path, place in (
        ("n\\x0am", "n\nm"),
        ("../out/n\\x0am", outside),
        (f"{ws.parent}/out/n\\x0am", outside),
    ):
        assert Resolver(str(ws)).resolve(path).path == place
        literal = Resolver(str(ws)).resolve(path, literal=True).path
        assert literal == place.replace("\n", "\\x0a")


def test_a_path_that_climbs_by_its_spelling_is_outside_for_tools_wherever_its_links_lead(ws):
    path = "link/../../new"
    assert not Resolver(str(ws)).resolve(path).is_inside
    opened = Resolver(str(ws)).resolve(path, literal=True)  # a program goes where the links lead
    assert (opened.is_inside, opened.path) == (True, "new")


def test_a_workspace_may_be_spelled_by_a_link_or_be_gone(ws):
    assert Resolver(f"{ws.parent}/alias").root == str(ws)
    resolved = Resolver(f"{ws.parent}/alias").resolve(f"{ws}/a")
    assert (resolved.path, resolved.is_inside) == ("a", True)
    lost = Resolver(str(ws.parent / "lost"))
    for literal in (False, True):
        resolved = lost.resolve("x\\x0a", literal=literal)
        assert not resolved.is_inside
        assert not resolved.exists
        assert resolved.path == ("x\\x0a" if literal else "x\n")
        assert resolved.place == f"{ws.parent}/lost/{resolved.path}"


def test_a_trace_keeps_the_last_link_and_the_error_of_a_loop(ws):
    with closing_file(os.open(ws, LISTING)) as fd:
        beneath = Beneath(fd, str(ws))
        for path, follow, names in (
            ("twice/link", True, ["twice/link", "link/link", "a/b/link"]),
            ("a/../link", True, ["link", "a/b"]),
            ("link", False, ["link"]),
            ("twice", False, ["twice"]),
            ("abs/b", False, ["abs/b", "a/b"]),
        ):
            trace = Trace(beneath, path, follow=follow)
            assert trace.run()
            assert trace.names == names
            assert trace.loop is None
        trace = Trace(beneath, "loop")
        assert trace.run()
        assert trace.loop.error_class == "symlink_loop"
        assert Resolver(str(ws)).beneath(beneath, "n\\x0am").path == "n\nm"


def test_no_descriptor_is_left_open(ws):
    place = Resolver(str(ws))
    before = set(os.listdir("/proc/self/fd"))
    for path in ("a", "link/file", "new/x", "../out/link", "loop", "/", "up/ws", "gone", "a\0b"):
        place.resolve(path)
    assert set(os.listdir("/proc/self/fd")) <= before


def test_the_disk_can_be_the_workspace(tmp_path):
    resolved = Resolver("/").resolve(str(tmp_path))
    assert resolved.names == (str(tmp_path)[1:],)
    assert resolved.places == (str(tmp_path),)
    assert resolved.is_inside
    assert Resolver("/").resolve("/").names == (".",)
    assert Resolver("/").resolve("/").place == "/"


def test_a_copy_also_has_the_places_that_it_is_a_copy_of(ws, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "one").symlink_to("two")
    resolved = Resolver(str(copy), origins=[str(ws)]).resolve("one")
    assert resolved.names == ("one", "two")
    assert resolved.places == (f"{copy}/one", f"{copy}/two", f"{ws}/one", f"{ws}/two")
    linked = Resolver(str(copy), origins=[str(ws)]).resolve("link/x")
    assert linked.places == (f"{copy}/link/x", f"{ws}/link/x", f"{ws}/a/b/x")


def test_a_copy_of_a_copy_has_the_places_of_both(ws, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for copy in (first, second):
        (copy / "link").mkdir(parents=True)
    resolved = Resolver(str(second), origins=[str(first), str(ws)]).resolve("link/x")
    assert resolved.names == ("link/x",)
    places = (f"{second}/link/x", f"{first}/link/x", f"{ws}/link/x", f"{ws}/a/b/x")
    assert resolved.places == places


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".git/hooks/x", ProtectionKind.GIT),
        ("a/.vscode/tasks.json", None),
        ("plain", None),
        (".", None),
        ("a", None),
    ],
)
def test_protected_is_what_has_a_protected_name(ws, path, kind):
    resolved = Resolver(str(ws)).resolve(path)
    if path == "a/.vscode/tasks.json":
        assert resolved.protection is not None
    else:
        assert (resolved.protection and resolved.protection.kind) == kind
    assert not resolved.is_private


def test_any_name_on_the_way_protects(ws):
    (ws / ".vscode").symlink_to("a")
    (ws / "harmless").symlink_to(".vscode")
    assert Resolver(str(ws)).resolve(".vscode/x").protection is not None
    assert Resolver(str(ws)).resolve("harmless/x").protection is not None
    assert Resolver(str(ws)).resolve("a/x").protection is None


def test_our_own_folders_are_private_but_for_the_sessions(ws):
    own = ws / "own"
    (own / "sessions/mine").mkdir(parents=True)
    place = Resolver(str(ws), own=[str(own)], readable=str(own / "sessions/mine"))
    for path, is_private in (("own", True), ("own/x", True), ("own/sessions/other", True)):
        resolved = place.resolve(path)
        assert (resolved.protection, resolved.is_private) == (STATE, is_private)
    with contextlib.chdir(own):
        assert Resolver(str(ws), own=[str(own)]).resolve("own/x").is_private
    mine = place.resolve("own/sessions/mine/x")
    assert (mine.protection, mine.is_private) == (STATE, False)
    assert place.resolve("owner").protection is None
    assert not place.resolve("owner").is_private


def test_our_own_folders_outside_are_private_whatever_leads_there(ws):
    own = ws.parent / "own"
    own.mkdir()
    (ws.parent / "to-own").symlink_to(own)
    (ws / "in").symlink_to(own)
    for place in (Resolver(str(ws), [str(own)]), Resolver(str(ws), [str(ws.parent / "to-own")])):
        for path in ("../own/x", "in/x", "../to-own"):
            resolved = place.resolve(path)
            assert (resolved.protection, resolved.is_private) == (STATE, True)
        assert place.resolve("../out").protection is None
        assert place.resolve("a").protection is None


def test_a_file_is_compared_with_our_own_folders_only_where_they_can_hold_it(ws, monkeypatch):
    elsewhere, here = Resolver(str(ws), ["/elsewhere"]), Resolver(str(ws), [str(ws / "own")])
    monkeypatch.setattr("nanocoder_files.protected.is_in", None)
    assert not elsewhere.resolve("a").is_private
    for place, path in ((here, "a"), (elsewhere, "../out")):
        with pytest.raises(TypeError):
            place.resolve(path)


def test_a_file_outside_is_no_part_of_a_virtual_environment_inside(ws):
    outside = ws.parent / "out"
    inside = ws / str(outside)[1:]
    inside.mkdir(parents=True)
    (inside / "pyvenv.cfg").write_text("")
    assert Resolver(str(ws)).resolve(str(inside / "bin/tool")).protection == PROGRAM
    assert Resolver(str(ws)).resolve(str(outside / "bin/tool")).protection is None


def test_the_running_program_is_protected_and_what_is_installed(ws, monkeypatch):
    for name in ("bin", "src"):
        (ws / name).mkdir()
    (ws / "bin/tool").write_text("x")
    for folder in ("env", "deep/env"):
        (ws / folder / "bin").mkdir(parents=True)
        (ws / folder / "pyvenv.cfg").write_text("")
    (ws / "prefix/lib").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", [str(ws / "bin/tool")])
    monkeypatch.setattr(sys, "prefix", str(ws / "prefix"))
    resolution._running.cache_clear()
    try:
        place = Resolver(str(ws))
    finally:
        resolution._running.cache_clear()
    program = {
        *("bin/tool", "env", "env/bin/python", "env/lib/x", "env/pyvenv.cfg"),
        *("deep/env", "deep/env/bin", "prefix", "prefix/bin/x"),
    }
    plain = {"bin", "bin/other", "src", "deep", "deep/x", "env/notes.txt", "../bin/tool", "."}
    for path in program:
        assert place.resolve(path).protection == PROGRAM, path
    for path in plain:
        assert place.resolve(path).protection is None, path
    monkeypatch.setattr(sys, "argv", [str(ws.parent / "out/file")])
    resolution._running.cache_clear()
    assert Resolver(str(ws)).resolve("../out/file").protection == PROGRAM
    resolution._running.cache_clear()
    for argv in ([], [""], [str(ws / "prefix"), str(ws / "a")]):
        monkeypatch.setattr(sys, "argv", argv)
        assert resolution._running() == frozenset({str(ws / "prefix")})
        resolution._running.cache_clear()


def test_a_virtual_environment_at_the_root_is_found(ws):
    (ws / "pyvenv.cfg").write_text("")
    place = Resolver(str(ws))
    assert place.resolve("bin/python").protection == PROGRAM
    assert place.resolve("notes").protection is None
    assert place.resolve("a/bin").protection is None
    assert place.resolve(".").protection is None


def test_a_path_of_any_length_has_an_answer(ws):
    long = "x/" * 5_000 + "bin"
    assert Resolver(str(ws)).resolve(long).protection is None


def test_the_disk_is_asked_for_a_virtual_environment_only_where_one_can_be(ws, monkeypatch):
    place, asked = Resolver(str(ws)), []
    monkeypatch.setattr(os.path, "exists", asked.append)
    for path in ("new", "new/deep", "a", "a/bin"):
        place.resolve(path)
    assert asked == [f"{ws}/a/pyvenv.cfg", f"{ws}/a/pyvenv.cfg"]
    asked.clear()
    place.resolve("bin/" * 10_000)
    assert max(map(len, asked)) <= MAX_PATH_BYTES + len("/pyvenv.cfg")


def test_the_places_of_a_session_are_looked_up_once(ws):
    resolver.cache_clear()
    first = resolver(str(ws), (), "", ())
    assert resolver(str(ws), (), "", ()) is first
    assert resolver(str(ws), (str(ws / "own"),), "", ()) is not first
    with_all = resolver(str(ws), (str(ws / "own"),), str(ws / "own/s"), (str(ws.parent / "out"),))
    assert with_all.resolve("own/x").is_private
    assert not with_all.resolve("own/s/x").is_private
    assert with_all.resolve("b").places == (f"{ws}/b", f"{ws.parent}/out/b")
