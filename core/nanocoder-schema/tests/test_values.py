"""Values are built when they are first used, and are attrs classes all the same."""

import threading

import attrs
import pytest
from nanocoder_schema import mutable, value


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
