"""Commands that end a machine or a home are denied in every mode, whatever a rule allows."""

import pytest

ENDING = [
    "rm -rf /",
    "rm -r -f /*",
    "rm -fR //",
    "rm --recursive --force --no-preserve-root /",
    "sudo rm -rf /usr /tmp/x",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf ~root",
    "rm -rf $HOME",
    'rm -rf "${HOME}/"',
    "rm -rf /home/me",
    "rm -rf /tmp/../",
    "r\\m -r'f' \"/\"",
    "cd /tmp && rm -rf /etc",
    "true; x=$(rm -rf /)",
    "bash -c 'rm -rf /'",
    "echo / | xargs rm -rf /var",
    "/bin/rm -rf /",
    "chmod -R 777 /",
    "sudo chown -R me:me /usr",
    "find / -delete",
    "find ~ -type f -exec rm {} +",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "sudo dd if=x of=/dev/nvme0n1",
    "cat image > /dev/sdb",
    "cp image /dev/mmcblk0",
    "echo x | tee /dev/vda1",
    "mkfs.ext4 /dev/sda1",
    "mkfs -t ext4 /dev/mapper/root",
    "wipefs -a /dev/sdc",
    "shutdown -h now",
    "sudo -n reboot",
    "if true; then poweroff; fi",
    "systemctl poweroff",
]
ORDINARY = [
    "rm -rf build dist",
    "cd build && rm -rf *",
    "rm -rf *.egg-info .*cache",
    "rm -rf /tmp/x/*",
    "rm -rf ~/.cache/app",
    "rm -rf $HOME/project/build",
    "rm -rf /home/me/project/build",
    "rm /etc",
    "rm -f /",
    "chmod -R u+w build",
    "chown me /",
    "find . -name '*.pyc' -delete",
    "find / -name core -delete",
    "dd if=/dev/sda of=image bs=1M count=1",
    "dd if=/dev/zero of=image bs=1M count=1",
    "cp /dev/sda image",
    "make > /dev/null 2>&1",
    "grep -rn 'rm -rf /' .",
    "npm run halt",
    "make reboot > log",
    "git commit -m 'shutdown in order'",
    "systemctl --user status app",
    "kill -1 4711",
    "kill -9 4711",
    "f() { g | h & }; f",
]


@pytest.mark.contract("MA-09")
@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize("command", ENDING)
def test_no_mode_and_no_rule_lets_a_command_end_the_machine(command, mode, judge):
    allow = ["bash", f"bash({command})"] if command.isalpha() else ["bash"]
    verdict = judge("bash", {"command": command}, mode, allow=allow)
    assert (str(verdict.decision), verdict.rule) == ("deny", "blocklist")
    assert verdict.reason.startswith("blocked: this ")
    assert "plugins.policy-rules.blocklist" in verdict.reason


@pytest.mark.parametrize("command", ORDINARY)
def test_what_only_looks_like_it_runs_in_mode_auto(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


FOLLOWED = [
    "cd / && rm -rf *",
    "cd ~ && rm -rf *",
    "cd && rm -rf .",
    "cd; rm -rf ./*",
    "cd /; ls; rm -rf -- *",
    "(cd / && rm -rf *)",
    "pushd / > log; rm -rf *",
    "sh -c 'cd / && rm -rf *'",
    "cd missing; rm -rf ..",
    "rm -rf ../../../../../../../../../../..",
    "rm -rf ../*",
    "rm -rf $PWD",
    'rm -rf -- "$PWD"',
    'rm -rf "${PWD}/"',
    "rm -rf .",
    "rm -rf ./",
    "rm -rf .[!.]* *",
    "rm -rf *",
    "rm -rf ./*",
    "rm -r [!.]*",
    "cd src/.. && rm -r -- *",
    'cd "$SNAP" && rm -rf *',
    "rm -rf .git",
    "rm -rf ./.git/",
    "rm -rf .git/*",
    "rm -rf src/../.git",
    "cd src && rm -rf ../.git",
    "d=/; rm -rf $d",
    "d=/; d+=usr; rm -rf $d",
    "d=~; rm -rf $d/*",
    "find / -name '*' -delete",
    "find / -path '/*' -delete",
    "find ~ -regex '.*' -delete",
    "find . -delete",
    "find . -mindepth 1 -delete",
    "find . -type f -exec rm -f {} +",
    "cd / && find . -type f -delete",
    "cd .. && chmod -R 777 /",
    "rm -rf way/..",
    "rm -rf ${HOME:-x}",
    "rsync -a --delete empty/ /",
    "rsync -a --del empty/ ~/",
]


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("command", FOLLOWED)
def test_what_is_removed_is_followed_from_directory_to_directory(command, mode, tmp_path, judge):
    (tmp_path / "src").mkdir()
    (tmp_path / "way").symlink_to("/usr")
    verdict = judge("bash", {"command": command}, mode, allow=["bash"])
    assert (str(verdict.decision), verdict.rule) == ("deny", "blocklist")


@pytest.mark.parametrize(("workdir", "expected"), [("..", "deny"), ("src", "allow")])
def test_what_is_removed_is_looked_for_where_the_command_runs(workdir, expected, tmp_path, judge):
    (tmp_path / "src").mkdir()
    arguments = {"command": "rm -rf *", "workdir": workdir}
    assert str(judge("bash", arguments, "auto").decision) == expected


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "a" * 65_000 + "(){" + "a" * 65_000,
        ("a" * 5_000 + "(){" + "a" * 5_000) * 13,
        "a(){" * 32_000,
        "a;" * 65_000,
        "$a " * 40_000,
        "`a" * 65_000,
        "${a" * 40_000,
        "{a," * 40_000,
        "{a,b}" * 25_000,
        "a=" * 65_000,
        "'\"" * 65_000,
        "\\" * 130_000,
        "\n" * 130_000 + "\\x",
        "; " * 65_000 + "\\x",
        "\\ a" * 43_000,
        "2>&1" * 32_000,
        "a=b[" * 32_000,
        "xargs " * 20_000,
        "a?/" * 20_000,
        "a/" * 40_000,
        " ".join(f"a{n}*/b?/c*" for n in range(10_000)),
        "".join(f"a{n}=b;" for n in range(13_000)) + "$a1 " * 5_000,
        " ".join(f"é{n} .git{n}" for n in range(10_000)),
        "cat " + "b/" * 400_000,
        "rm -rf " + " ".join(f"c/{n}" for n in range(40_000)),
        "rm " * 60_000,
        "find . -exec " * 30_000,
        "cd d " * 40_000 + "rm -rf e",
        "cd f;" * 40_000 + "rm -rf g",
        "`h` " * 100_000,
    ],
    ids=lambda command: command[:12],
)
def test_no_text_makes_judging_slow(command, judge):
    """Each took hours or minutes where the time grew with the square; now it is below a second."""
    rules = ["bash(git push *)", "bash(rm -rf)", "bash(touch *)"]
    assert judge("bash", {"command": command}, "auto", deny=rules) is not None


UNSET = [
    "rm -rf $SNAP/*",
    'rm -rf "$SNAP"/*',
    "rm -rf ${SNAP}/*",
    "rm -rf ${SNAP-}/*",
    'rm -rf "${SNAP%/}/"',
    'rm -rf "$A$B/"',
    'rm -rf -- "$SNAP"/',
    'rm -rf "$1"/*',
    'rm -rf "$@"/*',
    "rm -rf /$SNAP*",
    "rm -rf /$SNAP",
    'D=; rm -rf "$D/"',
    "export D; rm -rf $D/",
    'find "$SNAP/" -delete',
    "find \"$SNAP/\" -name '*.pyc' -delete",
    'chmod -R 777 "$SNAP/"',
    'cd "$SNAP/" && rm -rf *',
    'rsync -a --delete e/ "$SNAP/"',
    'sudo rm -rf "$SNAP"/',
    "bash -c 'rm -rf $SNAP/*'",
    'rm -rf "${SNAP:-/}"',
    '[ -d "$SNAP" ] && rm -rf "$SNAP"/*',
]
SET = [
    "D=/tmp/x; rm -rf $D/*",
    "D=a; D+=b; rm -rf $D",
    'D=build && rm -rf "$D"/*',
    'D=build; rm -rf "${D:?}"/*',
    "cd $SNAP && rm -rf build",
    'set -- build; rm -rf "$1"/*',
    "rm -rf {build,dist} src/{a,b}/x",
    "rm $(cat list)",
    "chmod u+x $(cat list)",
    'find build -name "$NAME" -delete',
    "git ls-files | xargs rm -f",
]


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("command", UNSET)
def test_a_variable_that_nothing_sets_stands_for_nothing(command, mode, judge):
    verdict = judge("bash", {"command": command}, mode, allow=["bash"], sandbox="")
    assert (str(verdict.decision), verdict.rule) == ("deny", "blocklist")


def test_the_reason_names_the_variable_and_the_way_out(judge):
    reason = judge("bash", {"command": "rm -rf $SNAP/*"}, "auto").reason
    assert "'/*' and everything in it if SNAP is not set; write ${SNAP:?}" in reason


@pytest.mark.parametrize("command", SET)
def test_what_is_known_or_removes_no_folder_is_not_asked_about(command, judge):
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) == "allow", verdict.reason


COMPUTED = [
    'rm -rf "$(pwd)"',
    "D=$(mktemp -d); rm -rf $D/*",
    'for d in a b; do rm -rf "$d"/*; done',
    "source env.sh; rm -rf $OUT/*",
    "D=a; D+=$(cat name); rm -rf $D/*",
    "D=(/ a); rm -rf $D",
    "git ls-files | xargs rm -rf",
    'cd "$(cat place)" && rm -rf *',
    "rm -rf " + "{a,b}" * 9,
]


@pytest.mark.parametrize("mode", ["edits", "auto"])
@pytest.mark.parametrize("command", COMPUTED)
def test_what_only_the_running_command_knows_is_left_to_the_sandbox(command, mode, judge):
    verdict = judge("bash", {"command": command}, mode, sandbox="bwrap")
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize("command", ["rm -rf {build,/}", "rm -rf {.,build}", "find -delete"])
def test_each_word_that_braces_make_and_a_missing_one_are_looked_at(command, judge):
    verdict = judge("bash", {"command": command}, "auto", allow=["bash"])
    assert (str(verdict.decision), verdict.rule) == ("deny", "blocklist")


def test_a_person_may_turn_the_list_off(judge):
    verdict = judge("bash", {"command": "rm -rf /"}, "auto", blocklist=False)
    assert str(verdict.decision) == "allow"


def test_other_tools_that_start_commands_are_held_to_it(judge):
    assert judge("stranger", {"command": "rm -rf /"}, "auto").rule == "blocklist"
