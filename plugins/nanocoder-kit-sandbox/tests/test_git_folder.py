"""The check of a file that a program in a sandbox gives git."""

import tracemalloc

from nanocoder_kit_sandbox.git_folder import problem_of

HASH = b"a" * 40


def test_only_the_first_line_of_packed_references_may_be_a_comment():
    line = HASH + b" refs/heads/x\n"
    assert problem_of("packed-refs", b"# pack-refs with: peeled\n" + line, b"", "/w", ()) == ""
    assert problem_of("packed-refs", line + b"#\n", b"", "/w", ()) != ""


def test_many_lines_take_no_memory_besides_their_own():
    content = (HASH + b" refs/heads/x\n") * 50_000
    tracemalloc.start()
    assert problem_of("packed-refs", content, b"", "/w", ()) == ""
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < len(content) / 10
