"""What opens beneath a folder does, exactly: these tests are what mutants of it meet."""

import errno
import gc
import os
import stat
import sys

import pytest
from nanocoder_files import WorkspaceError
from nanocoder_files.beneath import (
    DIRECTORY,
    MAX_HOPS,
    MAX_RACES,
    READ,
    Beneath,
    NewFolders,
    Place,
    check_regular,
    outside,
    read_link,
)


@pytest.fixture
def root(tmp_path):
    """A folder with a file, folders, links inside and links that lead out."""
    top = tmp_path / "ws"
    (top / "a/b").mkdir(parents=True)
    (top / "a/b/file").write_text("deep")
    (top / "a/b/c").mkdir()
    (top / "file").write_text("top")
    (top / "to-file").symlink_to("a/b/file")
    (top / "to-folder").symlink_to("a/b")
    (top / "to-self").symlink_to(".")
    (top / "absolute").symlink_to(top / "a")
    (top / "untidy").symlink_to("./a//b/./file")
    (top / "out").symlink_to("..")
    (top / "to-outside").symlink_to(tmp_path)
    (top / "loop").symlink_to("loop")
    (tmp_path / "secret").write_text("secret")
    return top


def descriptors():
    """Return the numbers of all open files."""
    return set(os.listdir("/proc/self/fd"))


@pytest.fixture
def beneath(root):
    fd = os.open(root, DIRECTORY)
    place = Beneath(fd, str(root))
    gc.collect()
    before = descriptors()
    yield place
    assert descriptors() <= before  # whatever happened, nothing is left open
    os.close(fd)


def opened(beneath, path, flags=READ):
    """Open *path* and return its content, or the names in it, and the path without links."""
    fd, real = beneath.open(path, flags)
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            return sorted(os.listdir(fd)), real
        return os.read(fd, 100).decode(), real
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("path", "content", "real"),
    [
        ("file", "top", "file"),
        ("a/b/file", "deep", "a/b/file"),
        ("a/b/../b/file", "deep", "a/b/file"),
        ("a/../file", "top", "file"),
        ("a/b/../../file", "top", "file"),
        ("to-file", "deep", "a/b/file"),
        ("to-folder/file", "deep", "a/b/file"),
        ("untidy", "deep", "a/b/file"),
        ("./a//b/./file", "deep", "a/b/file"),
        ("to-folder/../b/file", "deep", "a/b/file"),
        ("to-self/to-self/file", "top", "file"),
        ("absolute/b/file", "deep", "a/b/file"),
        ("a", ["b"], "a"),
        ("absolute", ["b"], "a"),
        ("to-folder", ["c", "file"], "a/b"),
        ("a/..", None, "."),
        (".", None, "."),
    ],
)
def test_a_path_is_opened_and_named_without_its_links(beneath, path, content, real):
    names, name = opened(beneath, path)
    assert name == real
    assert names == content or content is None


@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        ("out", "path_outside_workspace"),
        ("out/secret", "path_outside_workspace"),
        ("..", "path_outside_workspace"),
        ("a/../..", "path_outside_workspace"),
        ("to-outside", "path_outside_workspace"),
        ("to-outside/x", "path_outside_workspace"),
        ("loop", "symlink_loop"),
        ("loop/x", "symlink_loop"),
    ],
)
def test_what_leads_out_or_nowhere_is_refused(beneath, path, error_class):
    with pytest.raises(WorkspaceError) as caught:
        beneath.open(path, READ)
    assert caught.value.error_class == error_class
    if error_class == "path_outside_workspace":
        assert caught.value.data == {"root": beneath.root}
        assert str(caught.value) == (
            f"{path!r} is outside the workspace; only files below it can be used"
        )
    else:
        assert str(caught.value) == f"{path!r} leads through too many links"


@pytest.mark.parametrize("path", ["missing", "a/missing", "missing/x", "file/x", "to-file/x"])
def test_what_is_missing_is_the_error_of_the_system(beneath, path):
    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        beneath.open(path, READ)


def test_a_path_below_the_root_as_it_is_spelled_is_not_looked_up(root, monkeypatch):
    handle = os.open(root, DIRECTORY)
    beneath = Beneath(handle, str(root))
    monkeypatch.setattr(os, "stat", None)
    assert beneath.inside(f"{root}/a/b") == "a/b"
    disk = Beneath(handle, "/")
    assert disk.inside("/a/b") == "a/b"
    monkeypatch.undo()
    os.close(handle)


def test_descriptors_are_not_passed_on_and_no_link_is_followed_at_the_end(beneath):
    fd, _ = beneath.open("to-file", READ)
    assert not os.get_inheritable(fd)
    os.close(fd)
    with beneath.locate("to-file", follow=False) as place, pytest.raises(OSError, match="links"):
        os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place.fd)


@pytest.mark.parametrize(
    ("path", "follow", "name", "real"),
    [
        ("file", True, "file", "file"),
        ("a/b/file", True, "file", "a/b/file"),
        ("a/b/new", True, "new", "a/b/new"),
        ("to-file", True, "file", "a/b/file"),
        ("to-file", False, "to-file", "to-file"),
        ("a/../to-file", False, "to-file", "to-file"),
        ("to-folder/file", False, "file", "a/b/file"),
        ("out", False, "out", "out"),
        ("loop", False, "loop", "loop"),
        ("to-folder", True, "b", "a/b"),
        (".", True, ".", "."),
        ("a/..", True, ".", "."),
        ("a/b/c/..", True, "b", "a/b"),
    ],
)
def test_the_folder_of_a_path_is_located(beneath, path, follow, name, real):
    with beneath.locate(path, follow=follow) as place:
        assert (place.name, place.path) == (name, real)
        outer = beneath.root + ("/" + real.rpartition("/")[0] if "/" in real else "")
        assert os.path.samestat(os.fstat(place.fd), os.stat(outer))


def test_a_place_looks_at_the_link_itself_and_is_closed_once(beneath):
    with beneath.locate("to-file", follow=False) as place:
        assert stat.S_ISLNK(place.stat().st_mode)
    with beneath.locate("to-file") as place:
        assert place.path == "a/b/file"
    with beneath.locate("a/b/file") as place:
        assert place.stat().st_size == 4
        inner = place.fd
        assert inner != beneath.fd
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(inner)
    other = os.open(beneath.root, DIRECTORY)  # it may get the number again
    place.__exit__()
    os.fstat(other)
    os.close(other)
    with beneath.locate("file") as place:
        assert place.fd == beneath.fd
    os.fstat(beneath.fd)


def test_a_walk_that_failed_has_closed_all_and_may_be_closed_again(beneath):
    place = Place(beneath, "a/b/missing/x", follow=True)
    with pytest.raises(FileNotFoundError):
        place.arrive()
    place.close()
    assert place.fd == beneath.fd
    os.fstat(beneath.fd)


def test_a_place_in_the_root_closes_no_other_file_when_the_workspace_is_closed(root):
    beneath = Beneath(os.open(root, DIRECTORY), str(root))
    with beneath.locate("file") as place:
        os.close(beneath.fd)
        beneath.fd = -1
        other = os.open(root / "file", READ)
        assert other == place.fd  # it got the number
    assert os.read(other, 9) == b"top"
    os.close(other)


def test_missing_folders_are_made_and_announced(beneath):
    announced = []
    made = NewFolders(announced.append)
    with beneath.locate("a/new/deep/file", new_folders=made) as place:
        assert place.path == "a/new/deep/file"
    assert made == announced == ["a/new", "a/new/deep"]
    assert not os.path.lexists(f"{beneath.root}/a/new/deep/file")
    again = NewFolders()
    with beneath.locate("a/new/deep/file", new_folders=again):
        pass
    assert again == []
    assert again.announce is None
    with beneath.locate("a/silent/file", new_folders=again):
        pass
    assert again == ["a/silent"]
    with pytest.raises(FileNotFoundError):
        beneath.locate("b/file")


def test_a_folder_that_another_process_made_meanwhile_is_used_and_not_ours(beneath):
    made = NewFolders(lambda path: os.mkdir(f"{beneath.root}/{path}") if path == "x" else None)
    with beneath.locate("x/y/z", new_folders=made) as place:
        assert place.path == "x/y/z"
    assert made == ["x/y"]


def test_a_folder_is_announced_before_it_is_there(beneath):
    def announce(path):
        assert not os.path.lexists(f"{beneath.root}/{path}")

    with beneath.locate("x/y/z", new_folders=NewFolders(announce)):
        assert os.path.isdir(f"{beneath.root}/x/y")


def test_no_repository_is_made_on_the_way(beneath):
    made = NewFolders()
    with pytest.raises(WorkspaceError) as caught:
        beneath.locate("a/.git/hooks/x", new_folders=made)
    assert caught.value.error_class == "protected_path"
    assert ".git" in str(caught.value)
    assert made == []
    assert not os.path.lexists(f"{beneath.root}/a/.git")


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("./a//b/", "a/b"),
        ("{root}/a/./b", "a/b"),
        ("{root}", "."),
        ("{root}/", "."),
        ("a\\x0ab", "a\nb"),
        ("file", "file"),
    ],
)
def test_a_path_is_written_relative_to_the_root(beneath, path, raw):
    assert beneath.relative(path.format(root=beneath.root)) == raw


def test_escapes_are_read_unless_they_are_literal(beneath):
    assert beneath.relative("a\\x0ab", literal=True) == "a\\x0ab"
    with open(f"{beneath.root}/c\\x0ad", "w", encoding="utf-8"):
        pass
    assert beneath.relative("c\\x0ad") == "c\nd"  # whatever exists
    assert beneath.relative("c\\x5cx0ad") == "c\\x0ad"


def test_an_absolute_path_is_inside_by_any_spelling(beneath, tmp_path):
    (tmp_path / "alias").symlink_to(beneath.root)
    for spelling in (beneath.root, f"{tmp_path}/alias", f"{tmp_path}/./ws", f"{tmp_path}//alias"):
        assert beneath.inside(f"{spelling}/a/b") == "a/b"
        assert beneath.inside(f"{spelling}//a") == "a"
        assert beneath.inside(f"{spelling}/Xa/bX") == "Xa/bX"
        assert beneath.inside(f"{spelling}/") == "."
        assert beneath.inside(spelling) == "."
        assert beneath.inside(f"{spelling}/a/") in {"a", "a/"}
    for stranger in ("/", "/etc/hostname", f"{beneath.root}-evil/x", str(tmp_path), "/nowhere"):
        with pytest.raises(WorkspaceError) as caught:
            beneath.inside(stranger)
        assert repr(stranger) in str(caught.value)
        assert caught.value.data == {"root": beneath.root}


def test_magic_links_are_no_spelling_of_the_root(beneath):
    for path in (f"/proc/self/fd/{beneath.fd}", f"/dev/fd/{beneath.fd}"):
        assert os.path.samestat(os.stat(path), os.fstat(beneath.fd))
        with pytest.raises(WorkspaceError):
            beneath.inside(f"{path}/file")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5_000])
def test_a_name_that_no_file_can_have_is_not_inside(beneath, name):
    with pytest.raises(WorkspaceError):
        beneath.inside(f"/{name}")


def test_the_whole_disk_can_be_the_root():
    fd = os.open("/", DIRECTORY)
    beneath = Beneath(fd, "/")
    assert beneath.inside("/etc/x") == "etc/x"
    assert beneath.inside("/") == "."
    os.close(fd)


def chain(root, links):
    """Make *links* links, each to the next, and the last to a file; return the first."""
    for number in range(links - 1):
        (root / f"c{number}").symlink_to(f"c{number + 1}")
    (root / f"c{links - 1}").symlink_to("file")
    return "c0"


@pytest.mark.parametrize(("links", "is_open"), [(MAX_HOPS, True), (MAX_HOPS + 1, False)])
def test_so_many_links_are_followed_and_no_more(root, links, is_open):
    fd = os.open(root, DIRECTORY)
    try:
        first = chain(root, links)
        if is_open:
            with Beneath(fd, str(root)).locate(first) as place:
                assert place.path == "file"
        else:
            with pytest.raises(WorkspaceError, match="too many links"):
                Beneath(fd, str(root)).locate(first)
    finally:
        os.close(fd)


class Swapping(Beneath):
    """A folder in which a file becomes a link whenever it was located, *times* times."""

    def __init__(self, root, times):
        super().__init__(os.open(root, DIRECTORY), str(root))
        self.times = times
        self.located = 0

    def swap(self, monkeypatch):
        """Let each opening of a file find a link."""
        real = os.open

        def opening(path, flags, mode=0o777, *, dir_fd=None):
            if path == "file" and self.located < self.times:
                self.located += 1
                os.rename(f"{self.root}/file", f"{self.root}/kept")
                os.symlink("kept", f"{self.root}/file")
                try:
                    return real(path, flags, mode, dir_fd=dir_fd)
                finally:
                    os.unlink(f"{self.root}/file")
                    os.rename(f"{self.root}/kept", f"{self.root}/file")
            return real(path, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", opening)
        monkeypatch.setattr("nanocoder_files.beneath.read_link", self.is_link)

    def is_link(self, name, dir_fd):
        """Say that a file was a link just now, if it was."""
        if name == "file" and self.located and sys._getframe(1).f_code.co_name == "open":
            assert dir_fd == self.fd
            return "kept"
        return read_link(name, dir_fd)


@pytest.mark.parametrize(("times", "is_open"), [(MAX_RACES - 1, True), (MAX_RACES, False)])
def test_what_becomes_a_link_is_walked_again_but_not_forever(root, monkeypatch, times, is_open):
    swapping = Swapping(root, times)
    swapping.swap(monkeypatch)
    try:
        if is_open:
            fd, real = swapping.open("file", READ)
            assert (os.read(fd, 9), real) == (b"top", "file")
            os.close(fd)
        else:
            with pytest.raises(WorkspaceError) as caught:
                swapping.open("file", READ)
            assert caught.value.error_class == "symlink_loop"
            assert str(caught.value) == "'file' leads through too many links"
        assert swapping.located == times
    finally:
        monkeypatch.undo()
        os.close(swapping.fd)


class Changing:
    """An entry of *root*, which another process changes before each look at it."""

    def __init__(self, root, states, monkeypatch):
        self.path = root / "mover"
        self.states = iter(states)
        self.errors = {"again": errno.EMLINK, "denied": errno.EACCES}
        for name in ("open", "readlink", "lstat"):
            monkeypatch.setattr(os, name, self.looking(getattr(os, name)))

    def looking(self, look):
        """Let *look*, a function of the system, see the next state."""

        def change_and_look(path, *args, **options):
            error = self.change() if path == "mover" else None
            if error is not None:
                raise OSError(error, os.strerror(error))
            return look(path, *args, **options)

        return change_and_look

    def change(self):
        """Put the next state in place, and return the error of the system that it comes with."""
        state, _, error = next(self.states).partition(" ")
        if self.path.is_dir() and not self.path.is_symlink():
            (self.path / "file").unlink()
            self.path.rmdir()
        self.path.unlink(missing_ok=True)
        if state == "folder":
            self.path.mkdir()
            (self.path / "file").write_text("moved")
        elif state == "file":
            self.path.write_text("plain")
        elif state != "gone":
            self.path.symlink_to("a/b/file" if state == "final" else "a/b")
        return self.errors.get(error)


@pytest.mark.parametrize(
    ("states", "result"),
    [
        ("file, file, folder, folder", ("moved", "mover/file")),
        ("link, folder, folder, folder", ("moved", "mover/file")),
        ("file, file, link, link, link", ("deep", "a/b/file")),
        ("file, link", ("deep", "a/b/file")),
        ("file, file, file", NotADirectoryError),
        ("file, file, gone", FileNotFoundError),
        ("link, gone, gone", FileNotFoundError),
        ("folder denied", PermissionError),
        ("link denied", PermissionError),
        ("link again, link", ("deep", "a/b/file")),
    ],
)
def test_a_folder_that_changes_at_each_look_is_walked_as_it_is_then(
    root, monkeypatch, states, result
):
    changing_open(root, monkeypatch, states, "mover/file", result)


@pytest.mark.parametrize(
    ("states", "result"),
    [
        ("file, final, final, final", ("deep", "a/b/file")),
        ("file, final again, final, final", ("deep", "a/b/file")),
        ("file, final denied, final", PermissionError),
        ("file, final, file", OSError),
        ("file, gone, gone", FileNotFoundError),
    ],
)
def test_a_file_that_changes_at_each_look_is_opened_as_it_is_then(
    root, monkeypatch, states, result
):
    changing_open(root, monkeypatch, states, "mover", result)


def changing_open(root, monkeypatch, states, path, result):
    """Open *path* while "mover" goes through *states*, and expect *result* after the last one."""
    fd = os.open(root, DIRECTORY)
    changing = Changing(root, states.split(", "), monkeypatch)
    try:
        if isinstance(result, tuple):
            assert opened(Beneath(fd, str(root)), path) == result
        else:
            with pytest.raises(result):
                Beneath(fd, str(root)).open(path, READ)
        assert next(changing.states, None) is None
    finally:
        monkeypatch.undo()
        os.close(fd)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ELOOP])
def test_another_error_of_a_file_is_raised_at_once(root, monkeypatch, number):
    fd = os.open(root, DIRECTORY)
    real, tries = os.open, []

    def opening(path, flags, mode=0o777, *, dir_fd=None):
        if path == "file":
            tries.append(path)
            raise OSError(number, os.strerror(number))
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        Beneath(fd, str(root)).open("file", READ)
    assert caught.value.errno == number
    assert tries == ["file"]
    monkeypatch.undo()
    os.close(fd)


def test_a_folder_that_became_a_file_is_the_error_of_the_system(root):
    fd = os.open(root, DIRECTORY)
    with pytest.raises(NotADirectoryError):
        Beneath(fd, str(root)).locate("file/x")
    os.close(fd)


def test_only_regular_files_are_regular(root):
    check_regular("file", os.stat(root / "file"))
    with pytest.raises(WorkspaceError) as caught:
        check_regular("a\n", os.stat(root / "a"))
    assert str(caught.value) == "'a\\x0a' is a directory, not a file"
    assert caught.value.error_class == "is_a_directory"
    with pytest.raises(WorkspaceError) as caught:
        check_regular("n\n", os.stat("/dev/null"))
    assert str(caught.value) == "'n\\x0a' is a pipe, socket or device, not a file"
    assert caught.value.error_class == "not_a_regular_file"


def test_a_link_says_where_it_leads_and_nothing_else_does(root):
    fd = os.open(root, DIRECTORY)
    assert read_link("to-file", fd) == "a/b/file"
    assert read_link("loop", fd) == "loop"
    for name in ("file", "a", "missing", "a\0", "x" * 300):
        assert read_link(name, fd) is None
    os.close(fd)


def test_the_error_of_a_path_outside_names_both():
    error = outside("x", "/ws")
    assert str(error) == "'x' is outside the workspace; only files below it can be used"
    assert (error.error_class, error.data) == ("path_outside_workspace", {"root": "/ws"})
