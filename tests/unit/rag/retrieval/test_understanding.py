import pytest

from headwater.rag.lexical.analyzer import fold
from headwater.rag.retrieval.understanding import MAX_WORDS, understand


def stems(query: str) -> set[str]:
    return {term.stem for term in understand(query).wanted}


@pytest.mark.parametrize(
    ("query", "unwanted", "wanted"),
    [
        ("headphones without cable", {("cabl",)}, {"headphon"}),
        ("dog bed not navy blue", {("navi", "blue")}, {"dog", "bed"}),
        ("mat but no cork or rubber", {("cork",), ("rubber",)}, {"mat"}),
        ("shoes w/o laces for kids", {("lace",)}, {"shoe", "kid"}),
        ("no leather boots", {("leather",)}, {"boot"}),
        ("pan except red", {("red",)}, {"pan"}),
        ("any kite excluding birch, please", {("birch",)}, {"kite"}),
        ("string, anything but blue", {("blue",)}, {"string"}),
        ("a tent that isn't green", {("green",)}, {"tent"}),
        ("I don't want plastic, a glass kettle", {("plastic",)}, {"glass", "kettl"}),
        ("chairs not made of steel", {("steel",)}, {"chair"}),
        ("lamp other than brass", {("brass",)}, {"lamp"}),
    ],
)
def test_negations(query: str, unwanted: set[tuple[str, ...]], wanted: set[str]) -> None:
    found = understand(query)
    assert set(found.unwanted) == unwanted
    assert {term.stem for term in found.wanted} == wanted
    for group in unwanted:
        assert not any(stem in found.text.split() for stem in group)


@pytest.mark.parametrize(
    "query",
    [
        "kettle that does not wake the family",
        "boots which do not slip",
        "non-slip bath mat",
        "odour free yoga mat",
        "spirit level no. 12",
        "chanel no 5",
        "not",
        "without",
    ],
)
def test_not_every_no_is_a_negation(query: str) -> None:
    found = understand(query)
    assert found.unwanted == ()
    assert found.wanted


@pytest.mark.parametrize(
    ("query", "lowest", "highest", "rest"),
    [
        ("lamp under 50", None, 50, {"lamp"}),
        ("lamp under 50 euros for reading", None, 50, {"lamp", "read"}),
        ("lamp for no more than $1,200.50", None, 1200.5, {"lamp"}),
        ("lamp, max 30 €", None, 30, {"lamp"}),
        ("lamp cheaper than 1.200,50 eur", None, 1200.5, {"lamp"}),
        ("lamp over 100 usd", 100, None, {"lamp"}),
        ("lamp at least £20 but under £40", 20, 40, {"lamp"}),
        ("lamp between 20 and 40 euros", 20, 40, {"lamp"}),
        ("lamp from 20 to 40 €", 20, 40, {"lamp"}),
        ("lamp 100-200 €", 100, 200, {"lamp"}),
        ("lamp around 300 euros", 225, 375, {"lamp"}),
        ("$50 lamp", None, 50, {"lamp"}),
        ("lamp that costs less than 30", None, 30, {"lamp"}),
        ("hose less than 5 m", None, None, {"hose", "less", "5", "5000mm"}),
        ("tent for up to 5 people", None, None, {"tent", "up", "5", "person"}),
        ("from 20 to 40 kg weights", None, None, {"20", "40", "40000g", "weight"}),
        ("lamp 50% off", None, None, {"lamp", "50", "off"}),
        ("lamp 2000", None, None, {"lamp", "2000"}),
    ],
)
def test_prices(query: str, lowest: float | None, highest: float | None, rest: set[str]) -> None:
    found = understand(query)
    assert (found.lowest, found.highest) == (lowest, highest)
    assert {term.stem for term in found.wanted} == rest


@pytest.mark.parametrize(
    ("query", "direction"),
    [
        ("cheap red sofa", -1),
        ("an inexpensive sofa", -1),
        ("sofa with a great value-to-price ratio", -1),
        ("sofa, not too expensive", -1),
        ("luxury sofa", 1),
        ("sofa", 0),
    ],
)
def test_cheap_and_dear(query: str, direction: int) -> None:
    found = understand(query)
    assert found.direction == direction
    assert "sofa" in {term.stem for term in found.wanted}
    assert not {"cheap", "luxuri", "expens", "valu", "price", "ratio"} & stems(query)


@pytest.mark.parametrize(
    "query", ["", "   ", "the", "\x00\ud800", "?" * 5_000, "no no no no", "under 50", "€"]
)
def test_odd_queries_are_understood_as_little(query: str) -> None:
    assert understand(query).unwanted == ()


def test_nothing_is_lost_when_all_words_are_stop_words() -> None:
    assert stems("the who") == {"the", "who"}


def test_understanding_is_described() -> None:
    described = understand("cheap lamp without shade between 20 and 40 euros").describe()
    assert described == {"not wanted": "shade", "price from": "20", "price to": "40", "price": "low"}


@pytest.mark.parametrize(
    ("query", "unwanted", "wanted"),
    [
        ("Wasserkocher nicht in Blau", "blau", "wasserkoch"),
        ("Lampe ohne Kabel für den Balkon", "kabel", "lamp"),
        ("Tasche aber kein Leder", "led", "tasch"),
        ("sac à dos sans armature", "armatur", "sac"),
        ("lampe de chevet mais pas en verre", "verr", "lamp"),
        ("manta que no sea blanca", "blanc", "mant"),
        ("lámpara sin cable para la mesa", "cabl", "lamp"),
        ("zaino senza ruote per il viaggio", "ruot", "zain"),
        ("rugzak zonder wielen voor het kind", "wiel", "rugzak"),
        ("mochila sem rodas para a escola", "rod", "mochil"),
    ],
)
def test_negations_of_other_languages(query: str, unwanted: str, wanted: str) -> None:
    found = understand(query)
    assert found.unwanted == ((unwanted,),)
    assert wanted in {form for term in found.wanted for form in term.stems}
    assert not any(unwanted in term.stems for term in found.wanted)


@pytest.mark.parametrize(
    "query", ["Lampe, die nicht blendet", "Wecker, der sich nicht abschalten lässt", "algo que no se rompa"]
)
def test_a_negated_action_of_other_languages_is_no_negated_thing(query: str) -> None:
    assert understand(query).unwanted == ()


@pytest.mark.parametrize(
    "query",
    [
        "Lampe unter 50 Euro",
        "Lampe bis zu 50 €",
        "lampe à moins de 50 euros",
        "lampe jusqu'à 50 €",
        "lámpara por menos de 50 euros",
        "lampada fino a 50 euro",
        "lamp onder 50 euro",
        "lâmpada até 50 €",
    ],
)
def test_price_limits_of_other_languages(query: str) -> None:
    found = understand(query)
    assert (found.lowest, found.highest) == (None, 50)
    assert [term.word for term in found.wanted] == [fold(query.split(maxsplit=1)[0])]


@pytest.mark.parametrize("query", ["günstige Lampe", "lampe pas chère", "lámpara barata", "goedkope lamp"])
def test_a_low_price_of_other_languages(query: str) -> None:
    assert understand(query).direction == -1


def test_a_long_query_is_compared_by_its_first_words() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    found = understand(
        "waterproof backpack with " + " ".join(f"w{a}{b}" for a in letters[:4] for b in letters)
    )
    words = [term.word for term in found.wanted]
    assert words[:3] == ["waterproof", "backpack", "waa"]
    assert len(words) == MAX_WORDS
    assert "wdz" in found.text


def test_a_query_of_enough_words_is_read_in_its_own_language() -> None:
    few = understand("chaussures montantes")
    many = understand(" ".join(f"chaussures{letter}" for letter in "bcdfghjklmnpq"))
    assert any(term.others for term in few.wanted)
    assert not any(term.others for term in many.wanted)


def test_a_word_that_is_repeated_counts_once_and_costs_little() -> None:
    found = understand("lamp " * 400)
    assert {term.word for term in found.wanted} == {"lamp"}
    assert len(found.wanted) <= 2 * MAX_WORDS
