import pytest

from headwater.rag.lexical.analyzer import add_other_stems, analyze, detect_language, fold, list_stems, stem


@pytest.mark.parametrize(
    "alike",
    [
        ("10 mm", "10mm", "10 millimetres", "10-mm"),
        ("1.5 l", "1,5 l", "1.50l", "1.5 litres"),
        ("1500 w", "1,500 W", "1500 watts", "1.5 kW", "1,5 kilowatts"),
        ("60 cm", "600mm", "0.6 m", "60 Zentimeter", "60 centimetros"),
    ],
)
def test_a_measure_is_the_same_however_it_is_written(alike: tuple[str, ...]) -> None:
    joined = [[term.stem for term in analyze(text) if term.joined] for text in alike]
    assert joined == [joined[0]] * len(alike)
    assert len(joined[0]) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("batteries", "battery"), ("knives", "knife"), ("shelves", "shelf"), ("running", "runs"),
        ("colours", "color"), ("grey", "gray"), ("organiser", "organizer"), ("fibres", "fiber"),
        ("women", "woman"), ("boots", "boot"),
    ],
)  # fmt: skip
def test_forms_and_spellings_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("german", "leichtes Kinderfahrrad für die Kleinen", "leichte Kinderfahrräder für den Kleinen"),
        ("french", "des lampes de chevet pour la chambre", "une lampe de chevet pour les chambres"),
        ("spanish", "unas mochilas ligeras para el viaje", "una mochila ligera para los viajes"),
        ("italian", "gli zaini leggeri per il viaggio", "uno zaino leggero per i viaggi"),
        ("dutch", "de waterdichte rugzakken voor het kind", "een waterdichte rugzak voor het kind"),
        ("portuguese", "as mochilas leves para um menino", "uma mochila leve para os meninos"),
    ],
)
def test_forms_of_a_word_have_one_stem_in_the_language_of_the_text(
    language: str, one: str, other: str
) -> None:
    assert detect_language(one).name == detect_language(other).name == language
    assert list_stems(one) == list_stems(other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Edelstahl-Wasserkocher",
        "1.7 l",
        "no lights",
        "red men's shoes",
        "pour over kettle",
        "men hat",
        "die-cast van",
    ],
)
def test_a_text_without_words_of_another_language_is_english(text: str) -> None:
    assert detect_language(text).name == "english"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("Fahrräder", "Ein Fahrrad für die ganze Familie"),
        ("mochilas", "La mochila que no pesa"),
        ("chairs", "A chair for the garden"),
    ],
)
def test_a_word_of_a_query_is_found_in_texts_of_any_language(word: str, text: str) -> None:
    (term,) = analyze(word)
    assert not {*add_other_stems(term).stems}.isdisjoint(list_stems(text))


@pytest.mark.parametrize(("one", "other"), [("pot", "post"), ("cable", "cab"), ("glass", "glasses frame")])
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert list_stems(one) != list_stems(other)


def test_words_joined_by_a_hyphen_are_found_both_ways() -> None:
    assert {"t", "shirt", "tshirt"} == set(list_stems("T-Shirt"))
    assert "wh1000xm4" in list_stems("WH-1000XM4")
    assert "wh1000xm4" in list_stems("wh1000xm4")


def test_accents_and_case_do_not_matter() -> None:
    assert list_stems("CAFÉ Röstung") == list_stems("cafe rostung")
    assert fold("Straße") == "strasse"


def test_stop_words_and_apostrophes_are_left_out() -> None:
    assert list_stems("the chef's knife for you") == ["chef", "knife"]


def test_terms_have_their_offsets() -> None:
    folded = fold("Red 10 mm Hose")
    for term in analyze("Red 10 mm Hose"):
        assert folded[term.start : term.end].replace(" ", "") == term.word


def test_a_run_without_end_is_no_name() -> None:
    assert not any(term.joined for term in analyze("a1b2c3d4e5f6"))
    assert analyze("x" * 100_000) == []
