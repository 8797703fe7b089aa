"""Rules for web addresses compare hosts, not text."""

import pytest


def decide(judge, url, **rules):
    return str(judge("web_fetch", {"url": url}, **rules).decision)


@pytest.mark.contract("MA-107")
@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        ("*://good.test/*", "https://good.test/a?b=c", "allow"),
        ("*://good.test/*", "http://good.test", "allow"),
        ("*://good.test/*", "http://evil.test/?u=http://good.test/", "ask"),
        ("*://good.test/*", "http://evil.test/#http://good.test/", "ask"),
        ("*://good.test/*", "http://good.test.evil.test/", "ask"),
        ("*://good.test/*", "http://good.test@evil.test/", "ask"),
        ("*://good.test/*", "http://me:x@good.test/", "ask"),
        ("*://good.test/*", "http://evil.test\\@good.test/", "ask"),
        ("*://good.test/*", "http://good.test:8080/", "ask"),
        ("*://good.test/*", "ftp://good.test/", "ask"),
        ("*://good.test/*", "file://good.test/etc/passwd", "ask"),
        ("*://good.test/*", "http://good\u3002test/", "ask"),
        ("good.test", "https://GOOD.test./a", "allow"),
        ("good.test", "https://sub.good.test/", "ask"),
        ("good.test:8080", "http://good.test:8080/x", "allow"),
        ("*.example.org", "https://docs.example.org/x", "allow"),
        ("*.example.org", "https://a.b.example.org/", "allow"),
        ("*.example.org", "https://example.org/", "ask"),
        ("*.example.org", "https://evilexample.org/", "ask"),
        ("*.example.org", "https://evil.test/.example.org", "ask"),
        ("*.example.org", "https://evil.test/?x=.example.org", "ask"),
        ("docs.*.org", "https://docs.python.org/", "allow"),
        ("docs.*.org", "https://docs.a.b.org/", "ask"),
        ("https://good.test/docs/*", "https://good.test/docs/a", "allow"),
        ("https://good.test/docs/*", "https://good.test/docs/../admin", "ask"),
        ("https://good.test/docs/*", "https://good.test/docs/%2e%2e/admin", "ask"),
        ("https://good.test/docs/*", "http://good.test/docs/a", "ask"),
        ("https://b\u00fccher.example/*", "https://xn--bcher-kva.example/x", "allow"),
        ("*good*", "https://good.test/", "ask"),
    ],
)
def test_a_rule_allows_the_hosts_that_it_names(rule, url, expected, judge):
    assert decide(judge, url, allow=[f"web_fetch({rule})"]) == expected


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("rule", ["https://evil.test/*", "*://evil.test/*", "evil.test"])
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test/",
        "https://evil.test",
        "HTTPS://EVIL.test/x",
        "https://evil.test:443/x",
        "https://evil.test:8443/",
        "https://evil.test./x",
        "https://evil.test?x",
        "https://evil.test#x",
        "https://me@evil.test/",
        "https://good.test@evil.test/",
        "https://evil.test\\x",
        "https:/evil.test/x",
        "https:evil.test",
        "https:////evil.test/x",
        "https:\\evil.test/x",
        "https://ev%69l.test/",
        "https://\uff45vil.test/",
        "https://evil\u3002test/",
        "https://ev\til.test/",
        " https://evil.test/",
        "//evil.test/",
        "evil.test/x",
    ],
)
def test_no_spelling_gets_round_a_rule_that_denies(rule, url, mode, judge):
    assert decide(judge, url, mode=mode, deny=[f"web_fetch({rule})"]) == "deny"
    assert decide(judge, url, mode=mode, ask=[f"web_fetch({rule})"]) == "ask"


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("127.0.0.1", "http://0x7f.1/"),
        ("127.0.0.1", "http://2130706433/"),
        ("127.0.0.1", "http://127.1:8080/x"),
        ("[::1]", "http://[0:0:0:0:0:0:0:1]/"),
        ("https://evil.test/private/*", "https://evil.test/a/../private/x"),
        ("https://evil.test/private/*", "https://evil.test/%70rivate/x"),
        ("http://*", "http://anything.test/"),
        ("*secret*", "https://good.test/secret"),
    ],
)
def test_other_things_that_a_rule_denies(rule, url, judge):
    assert decide(judge, url, deny=[f"web_fetch({rule})"], allow=["web_fetch"]) == "deny"


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("evil.test", "https://good.test/?u=evil.test"),
        ("*.evil.test", "https://notevil.test/"),
        ("evil.test", "https://devil.test/"),
        ("http://*", "https://good.test/"),
        ("evil.test:8080", "https://evil.test/"),
    ],
)
def test_a_rule_that_denies_leaves_other_hosts_alone(rule, url, judge):
    assert decide(judge, url, deny=[f"web_fetch({rule})"], allow=["web_fetch"]) == "allow"
