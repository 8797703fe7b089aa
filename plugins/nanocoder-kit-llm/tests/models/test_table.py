import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import genai_prices
import pytest
from nanocoder import ConfigError, ModelInfo, Usage
from nanocoder_kit_llm.models import FREE, MODELS_SETTING, Catalog, Model, Price, source_of_table

TABLES = Path(__file__).parents[2] / "src/nanocoder_kit_llm/models/vendors"
GENERATE = Path(__file__).with_name("generate.py")


def table_of(vendor):
    return json.loads((TABLES / f"{vendor}.json").read_text(encoding="utf-8"))


def catalog(vendor="openai", **options):
    return Catalog(vendor, options.pop("overrides", {}), plugin="provider-openai", **options)


@pytest.mark.parametrize(
    ("vendor", "name", "context"),
    [
        ("openai", "gpt-5.5", 1_000_000),
        ("openai", "GPT-5.5-2026-04-23", 1_000_000),
        ("anthropic", "claude-sonnet-4-6", 1_000_000),
        ("anthropic", "claude-haiku-4-5-20251001", 200_000),
        ("google", "gemini-2.5-flash", 1_048_576),
    ],
)
@pytest.mark.contract("F8")
def test_a_model_is_known_by_its_name_and_by_those_with_a_date(vendor, name, context):
    model = catalog(vendor).find(name)
    assert (model.name, model.context) == (name, context)
    assert model.price is not None
    assert "images" in model.abilities


def test_a_model_that_is_not_in_the_table_has_no_price_rather_than_a_guess():
    for model in (catalog().find("gpt-of-tomorrow"), catalog("").find("qwen3-coder")):
        assert (model.context, model.price, model.abilities) == (0, None, ())
        assert model.priced(Usage(1, 1)).cost is None


@pytest.mark.contract("F8")
@pytest.mark.parametrize("name", ["claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"])
def test_a_gateway_takes_the_price_of_the_maker(name):
    model = catalog("").find(name)
    assert model.price == catalog("anthropic").find("claude-sonnet-4-6").price
    assert (model.context, model.abilities) == (0, ())  # these are the gateway's choice
    free = {name: {"input": 0.0, "output": 0.0}}
    assert catalog("", overrides=free).find(name).price == FREE


def test_a_request_costs_each_kind_of_token_and_more_above_a_step():
    price = Price(2.0, 10.0, 0.2, 2.5, 1_000, Price(4.0, 15.0, 0.4, 5.0))
    assert price.cost(Usage(500, 100, 300, 200)) == pytest.approx(0.00256)
    assert price.cost(Usage(501, 100, 300, 200)) == pytest.approx(0.004624)


def test_a_cost_that_the_server_named_stays():
    assert Model("m", price=Price(1, 1, 1, 1)).priced(Usage(9, 9, cost=7.0)).cost == 7.0


def test_a_reply_without_token_counts_has_no_cost():
    assert Model("m", price=Price(1, 1, 1, 1)).priced(Usage()).cost is None


def test_a_server_whose_models_cost_nothing_costs_nothing():
    assert catalog("", is_free=True).find("anything").priced(Usage(5, 5)).cost == 0.0


def test_the_person_completes_and_corrects_the_table():
    overrides = {
        "gpt-5.5": {"output": 1.0, "input": 1.0},
        "mine": {"context": 4096, "input": 3.0, "output": 9.0},
        "gpt-5": {"cache_read": 0.0},
        "gpt-4o": {"context": 9},
    }
    models = catalog(overrides=overrides)
    assert models.find("gpt-5.5").price == Price(1.0, 1.0, 1.0, 1.0)
    assert models.find("mine") == Model("mine", 4096, Price(3.0, 9.0, 3.0, 3.0))
    assert models.find("gpt-5").price == Price(1.25, 10, 0.0, 1.25)
    assert (models.find("gpt-4o").context, models.find("gpt-4o").price.input) == (9, 2.5)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"inptu": 1.0}, "'inptu' is not a setting; use context, input, output"),
        ({"input": 1.0}, "a price needs both input and output"),
        ({"input": -1.0, "output": 1.0}, "input is -1.0; use a number of 0 or more"),
    ],
)
def test_a_price_that_cannot_be_right_says_where_it_is_and_what_to_write(row, problem):
    with pytest.raises(ConfigError) as caught:
        catalog(overrides={"my-model": row})
    assert str(caught.value).startswith('[plugins.provider-openai.models."my-model"]: ')
    assert problem in str(caught.value)


def test_no_project_sets_a_price():
    assert MODELS_SETTING["user_only"] is True


def test_a_price_that_is_announced_holds_from_its_day(monkeypatch):
    rows = {
        "names": ["m"],
        "input": 1,
        "output": 1,
        "later": [{"from": "2027-01-01", "input": 2, "output": 2}],
    }
    monkeypatch.setattr("nanocoder_kit_llm.models.table._row", lambda vendor, name: rows)
    for day, expected in (("2026-12-31", 1), ("2027-01-01", 2)):
        monkeypatch.setattr("time.strftime", lambda *_, day=day: day)
        assert catalog().find("m").price.input == expected


def test_what_a_server_says_of_its_model_is_completed():
    model = Model("m", 100, Price(1.0, 2.0, 0.5, 1.5), ("images",))
    info = ModelInfo("m", 100, "M", 1.0, 2.0, ("images",))
    assert model.info(ModelInfo("m", description="M")) == info
    assert model.info(ModelInfo("m", 50)).context == 50


@pytest.mark.parametrize("vendor", sorted(file.stem for file in TABLES.iterdir()))
def test_each_table_names_its_source_and_its_day_and_has_no_row_without_a_price(vendor):
    table = table_of(vendor)
    assert source_of_table() == f"{table['source']}, {table['date']}"
    assert dt.date.fromisoformat(table["date"])
    rows = table["models"]
    assert rows
    assert all(row["names"] or row["pattern"] for row in rows)
    assert all(row["input"] >= 0 and row["output"] >= 0 for row in rows)


def test_a_vendor_without_a_table_has_unknown_models():
    assert catalog("nobody").find("gpt-5.5") == Model("gpt-5.5")


def test_a_lookup_reads_the_table_of_its_vendor_alone():
    code = (
        "import nanocoder_kit_llm.models.table as t\n"
        "assert t.Catalog('openai', {}, plugin='p').find('gpt-5.5').price\n"
        "assert t._table.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_importing_the_kit_reads_no_table():
    code = (
        "import sys, nanocoder_kit_llm.models.table as t\n"
        "assert not t._table.cache_info().currsize\n"
        "assert 'httpx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.contract("F8")
def test_costs_are_those_that_the_package_behind_the_table_computes():
    """Ask genai-prices itself, with every name of the three big vendors, below and above a step."""
    day = dt.datetime.fromisoformat(f"{table_of('openai')['date']}T12:00:00+00:00")
    different = []
    for vendor in ("anthropic", "openai", "google"):
        models = catalog(vendor)
        for row in filter(lambda row: row["names"], table_of(vendor)["models"]):
            for usage in (Usage(1_000, 500, 200, 100), Usage(300_000, 500, 20_000, 100)):
                cost = models.find(row["names"][0]).priced(usage).cost
                expected = genai_prices.calc_price(
                    theirs(usage),
                    row["names"][0],
                    provider_id=vendor,
                    genai_request_timestamp=day,
                )
                if cost != pytest.approx(float(expected.total_price)):
                    different.append((row["names"][0], usage, cost, expected.total_price))
    assert different == []


def theirs(usage):
    """Return a usage as genai-prices counts it: all input tokens together, and which are cached."""
    return genai_prices.Usage(
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
