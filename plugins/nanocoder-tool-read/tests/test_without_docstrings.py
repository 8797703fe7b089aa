"""Python drops docstrings with PYTHONOPTIMIZE=2; the tools keep their descriptions."""


def test_a_tool_works_where_python_drops_docstrings(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("one\n")
    done = nanocoder("call", "read_file", '{"path": "a.txt"}', env={"PYTHONOPTIMIZE": "2"})
    assert (done.returncode, done.stdout) == (0, "1\tone\n"), done.stderr
