"""Values are built when they are first used, and are attrs classes all the same."""

import threading
from typing import ClassVar

import attrs
import pytest
from nanocoder_schema import evolve, mutable, value


@value
class Point:
    """A frozen value."""

    x: int
    y: int = 2
    tags: list[str] = attrs.field(factory=list, eq=False)


@value
class Point3(Point):
    """A value with the fields of another."""

    z: int = 0


@mutable
class Counter:
    """A value that changes."""

    count: int = 0


def test_a_value_is_compared_and_shown_by_its_fields():
    assert Point(1) == Point(1, 2, ["a"])
    assert Point(1) != Point3(1)
    assert repr(Point3(1, z=3)) == "Point3(x=1, y=2, tags=[], z=3)"
    assert attrs.evolve(Point(1), y=5) == Point(1, 5)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Point(1).x = 2


def test_a_value_may_take_its_fields_by_name_alone_and_be_compared_by_identity():
    @value(eq=False, kw_only=True)
    class Named:
        x: int

    assert Named(x=1).x == 1
    assert Named(x=1) != Named(x=1)
    with pytest.raises(TypeError, match="positional"):
        Named(1)


def test_a_value_that_changes_keeps_its_fields():
    counter = Counter()
    counter.count += 1
    assert repr(counter) == "Counter(count=1)"


def test_the_fields_are_known_before_the_first_instance():
    @value
    class Fresh(Point):
        w: str = ""

    assert [field.name for field in attrs.fields(Fresh)] == ["x", "y", "tags", "w"]


def test_wrong_arguments_are_refused_as_by_any_attrs_class():
    @value
    class Fresh:
        x: int

    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            Fresh()


@value
class Plain:
    """A value that needs nothing but its names and defaults."""

    x: int
    words: list[str] = attrs.Factory(list)
    y: int = 2


@value
class PlainChild(Plain):
    """The same, with one more."""

    z: int = 3


def is_built(cls):
    return isinstance(vars(cls)["__attrs_attrs__"], tuple)


def test_a_few_instances_need_no_build_and_are_as_those_of_attrs():
    before = [Plain(1), Plain(1, ["a"], y=4), PlainChild(1, z=5), evolve(Plain(1), y=7)]
    assert before[0].words is not Plain(1).words  # a list of its own
    assert before[0] == Plain(1)
    assert hash(Plain(1, (), 2)) == hash(Plain(x=1, words=()))
    assert not is_built(Plain)
    assert not is_built(PlainChild)
    shown = [repr(item) for item in before]  # asks for the fields
    assert is_built(PlainChild)
    after = [Plain(1), Plain(1, ["a"], y=4), PlainChild(1, z=5), evolve(Plain(1), y=7)]
    assert after == before
    assert [repr(item) for item in after] == shown
    assert [list(vars(item)) for item in after] == [list(vars(item)) for item in before]


def test_a_copy_has_no_field_that_the_value_lacks_and_keeps_nothing_else():
    point = Plain(1)
    vars(point)["_counted"] = 5  # what somebody remembers beside the fields
    assert vars(evolve(point, x=2)) == {"x": 2, "words": [], "y": 2}
    with pytest.raises(TypeError, match="w"):
        evolve(point, w=1)


def test_many_instances_build_the_class():
    @value
    class Fresh:
        x: int = 0

    for number in range(100):
        assert Fresh(number).x == number
    assert is_built(Fresh)


@pytest.mark.parametrize("built", [False, True])
def test_a_value_cannot_be_changed_before_it_is_built_either(built):
    @value
    class Fresh:
        x: int

    if built:
        attrs.fields(Fresh)
    fresh = Fresh(1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        fresh.x = 2
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del fresh.x
    assert fresh == Fresh(1)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, [], 2, 3), {}), ((1,), {"x": 1}), ((1,), {"w": 1}), ((), {"y": 1})],
)
def test_arguments_that_do_not_fit_are_refused_before_a_build_too(values, named):
    @value
    class Fresh(Plain): ...

    with pytest.raises(TypeError):
        Fresh(*values, **named)


def test_what_runs_before_and_after_the_fields_are_set_does_so_without_a_build():
    @mutable
    class Fresh:
        x: int

        def __attrs_pre_init__(self):
            self.before = not hasattr(self, "x")

        def __attrs_post_init__(self):
            self.double = self.x * 2

    fresh = Fresh(3)
    assert (fresh.before, fresh.x, fresh.double) == (True, 3, 6)
    assert not is_built(Fresh)


def test_a_class_that_only_attrs_understands_is_built_at_once():
    @value
    class Converted:
        x: int = attrs.field(converter=int)

    @value
    class Shared:
        of_all: ClassVar[int] = 1
        x: int = 2

    @value
    class Private:
        _x: int

    assert (Converted("3").x, Shared(4).x, Private(x=5)._x) == (3, 4, 5)
    assert evolve(Converted(1), x="6").x == 6
    assert evolve(Point(1), y=5) == Point(1, 5)


def test_a_class_of_attrs_itself_is_copied_too():
    @attrs.define
    class Slotted:
        x: int

    assert evolve(Slotted(1), x=2) == Slotted(2)


def test_threads_that_need_a_class_at_once_build_it_once():
    for _ in range(50):

        @value
        class Fresh:
            x: int = 1
            y: int = 2

        start, made = threading.Barrier(4), []

        def make(cls=Fresh, start=start, made=made):
            start.wait()
            made.append(cls(y=3))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Fresh(y=3)] * 4
