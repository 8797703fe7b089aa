"""Commands that must never run outside of a sandbox unasked, each with too trusting a rule."""

import pytest
from nanocoder import Decision
from nanocoder_policy_rules import Settings

# SHELL-004 to 164, 189 (those of one class of attack stand together)
PAYLOADS = [
    # chains, substitutions, expansions
    ("echo *", "echo touch $M | sh"),
    ("echo *", "echo x; touch {M}"),
    ("echo *", "echo x && touch {M}"),
    ("echo *", "echo x || touch {M}"),
    ("echo *", "echo x & touch {M}"),
    ("echo *", "echo x\ntouch {M}"),
    ("echo *", "echo $(touch {M})"),
    ("echo *", "echo `touch {M}`"),
    ("echo *", 'echo "$(touch {M})"'),
    ("echo *", "echo $((a[$(touch {M})]))"),
    ("echo *", "x='$(touch {M})'; echo ${x@P}"),
    ("echo *", "echo ${x:-`touch {M}`}"),
    ("echo *", "echo <(touch {M})"),
    ("[[ *", "[[ -v 'a[$(touch {M})]' ]]"),
    ("[ *", "[ -v 'a[$(touch {M})]' ]"),
    ("test *", "test -v 'a[$(touch {M})]'"),
    ("printf *", "printf -v 'a[$(touch {M})]' x"),
    ("declare *", "declare -i n='a[$(touch {M})]'"),
    ("let *", "let 'a[$(touch {M})]'"),
    ("echo *", "((a[$(touch {M})]))"),
    ("cat *", "cat <<E\n$(touch {M})\nE"),
    ("cat *", 'cat <<< "$(touch {M})"'),
    # redirections
    ("echo *", "echo x > {M}"),
    ("echo *", "echo x >| {M}"),
    ("echo *", "echo x >! {M}"),
    ("echo *", "echo x &> {M}"),
    ("echo *", "echo x >> {M}"),
    ("echo *", "echo x {fd}>{M}"),
    ("echo *", "echo x 1<>{M}"),
    ("echo *", "echo x 2>/dev/null>{M}"),
    ("echo *", "echo x >/dev/nullx"),
    ("exec *", "exec 3>{M}"),
    # assignments, wrappers, interpreters
    ("git log *", 'PAGER="touch {M}" git --paginate log -1'),
    ("git diff *", 'GIT_EXTERNAL_DIFF="touch {M} #" git diff'),
    ("ls *", "LD_PRELOAD=./x.so ls; true"),
    ("grep *", "PATH=.:$PATH grep a f"),
    ("ls *", "$PWD/ls"),
    ("ls *", "./ls"),
    ("env *", "env touch {M}"),
    ("sudo *", "sudo touch {M}"),
    ("nohup *", "nohup touch {M}"),
    ("nice *", "nice touch {M}"),
    ("timeout *", "timeout 5 touch {M}"),
    ("command *", "command touch {M}"),
    ("builtin *", "builtin eval 'touch {M}'"),
    ("eval *", "eval 'touch {M}'"),
    ("exec *", "exec touch {M}"),
    ("setsid *", "setsid touch {M}; sleep 0.3"),
    ("stdbuf *", "stdbuf -o0 touch {M}"),
    ("ionice *", "ionice touch {M}"),
    ("watch *", "watch -n1 touch {M}"),
    ("time *", "time touch {M}"),
    ("xargs *", "xargs -a l touch"),
    (". *", ". ./x.sh"),
    ("source *", "source ./x.sh"),
    ("shopt *", "shopt -s expand_aliases\nalias ls='touch {M}'\nls"),
    ("python3 *", "python3 -c 'open(1)'"),
    ("bash *", "bash -c 'touch {M}'"),
    ("bash *", "echo 'touch {M}' | bash"),
    ("node *", "node -e 'x'"),
    ("perl *", "perl -e 'x'"),
    ("npx *", "npx foo"),
    ("enable *", "enable -f ./x.so x"),
    ("coproc *", "coproc touch {M}; wait"),
    ("echo *", "(touch {M})"),
    ("echo *", "{ touch {M}; }"),
    ("echo *", "if true; then touch {M}; fi"),
    ("echo *", "for i in 1; do touch {M}; done"),
    ("echo *", "case x in x) touch {M};; esac"),
    ("echo *", "f() { touch {M}; }; f"),
    ("echo *", "! touch {M}"),
    ("set *", "set -o history; history -s 'touch {M}'; fc -s"),
    # options that write or run
    ("find *", "find . -maxdepth 0 -exec touch {M} +"),
    ("find *", "find . -maxdepth 0 -ok touch {M} \\; < y"),
    ("find *", "find . -maxdepth 0 -fprintf {M} x"),
    ("find *", "find . -maxdepth 0 -fls {M}"),
    ("find *", "find . -delete"),
    ("find *", 'find . -maxdepth 0 -ex""ec touch {M} +'),
    ("find *", "find . -maxdepth 0 -ex'e'c touch {M} +"),
    ("sed *", "echo x | sed 's/x/y/w {M}'"),
    ("sed *", "sed -i s/a/b/ f"),
    ("sed *", "sed -n --in-place=.bak p f"),
    ("sed *", "sed -n '1e touch {M}' f"),
    ("sed *", "sed -ni 1p f"),
    ("awk *", "awk 'BEGIN{system(x)}'"),
    ("sort *", "sort -S 1k --compress-program=./x.sh f"),
    ("sort *", "sort -o {M} f"),
    ("sort *", "sort -uo{M} f"),
    ("sort *", "sort --output={M} f"),
    ("uniq *", "uniq i {M}"),
    ("tee *", "echo x | tee {M}"),
    ("cp *", "cp a {M}"),
    ("tar *", "tar xf t.tar --to-command='touch {M}'"),
    ("tar *", "tar cf t.tar -I'touch {M}' ."),
    ("rg *", "rg --pre ./x.sh a ."),
    ("rg *", "rg --pre=./x.sh a ."),
    ("rg *", "rg -z a a.gz"),
    ("rg *", "rg --hostname-bin ./x.sh a"),
    ("date *", "date -s 2020-01-01"),
    ("tree *", "tree -o {M}"),
    ("file *", "file -m ./f -f /etc/hostname"),
    ("xxd *", "echo '0: 41' | xxd -r - {M}"),
    ("less *", "less f"),
    ("man *", "man ls"),
    ("ssh *", "ssh -o ProxyCommand='touch {M}' localhost"),
    ("docker *", "docker --url tcp://127.0.0.1:1 ps"),
    ("curl *", "curl http://127.0.0.1/x"),
    # git runs what the repository's configuration names
    ("git log *", "git -c core.pager='touch {M} #' -p log -1"),
    ("git log *", "git log -p -1 --output={M}"),
    ("git grep *", "git grep -O./x.sh a"),
    ("git branch *", "git branch -D main"),
    ("git ls-remote *", "git ls-remote --upload-pack='touch {M} #' ."),
    ("git config *", "git config core.pager 'touch x'"),
    # obfuscation
    ("echo *", "tou\\\nch {M}"),
    ("echo *", "t'o'uch {M}"),
    ("echo *", "'touch' {M}"),
    ("echo *", "touch$IFS{M}"),
    ("echo *", "$'touch' {M}"),
    ("echo *", " \t touch {M}"),
    ("echo *", "echo *(e:'touch {M}':)"),
    ("echo *", "echo x\rtouch {M}"),
    ("echo *", "echo a\0; touch {M}"),
    ("ls *", "ls \u2800\u2800; touch {M}"),
    ("ls *", "ls \u00a0; touch {M}"),
    ("echo *", "echo " + "x" * 5_000 + "; touch {M}"),
    (".*", "touch {M}"),
    # out of the workspace
    ("cat *", "cat /etc/passwd"),
    ("cat *", "cat ../secret"),
    ("cat *", "cat a/../../secret"),
    ("cat *", "cat ~/.bashrc"),
    ("cat *", "cd / && cat etc/hostname"),
    ("cat *", "cd -- && cat x"),
    ("cat *", "cd .. ; cat x"),
    ("cat *", "cd sub ; cat ../x"),
    ("ls *", "cd nowhere || ls"),
    ("head *", "head -n1 /etc/passwd"),
    ("grep *", "grep -r x /etc"),
    ("grep *", "grep -f /etc/passwd x"),
    ("wc *", "wc --files0-from=/etc/passwd"),
    ("cp *", "cp /etc/passwd here"),
    ("make *", "make --directory=/etc"),
    ("make *", "make -f ../Makefile"),
]


def is_refused(rule):
    """Return True if a rule is too wide, so that nothing starts with it."""
    try:
        Settings(allow=(rule,))
    except ValueError:
        return True
    return False


@pytest.mark.contract("MA-107")
@pytest.mark.parametrize(("rule", "command"), PAYLOADS)
def test_what_a_trusting_rule_did_not_mean_still_needs_a_person(rule, command, judge):
    command = command.replace("{M}", "/tmp/mark")
    rule = f"bash({rule})"
    if is_refused(rule):
        return
    verdict = judge("bash", {"command": command}, allow=[rule])
    assert verdict.decision is not Decision.ALLOW


@pytest.mark.parametrize("command", sorted({command for _, command in PAYLOADS}))
def test_none_of_it_runs_unasked_without_a_sandbox_or_leaves_it(command, judge):
    arguments = {"command": command.replace("{M}", "inside")}
    assert judge("bash", arguments).decision is not Decision.ALLOW
    for mode, access in (("plan", "read"), ("ask", "read"), ("edits", "write"), ("auto", "write")):
        verdict = judge("bash", arguments, mode, sandbox="bwrap")
        assert (verdict.decision != "allow") or str(verdict.access) == access
