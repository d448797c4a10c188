import pytest

from headwater.rag.lexical.analyzer import analyze, fold, list_stems, stem


@pytest.mark.parametrize(
    "alike",
    [
        ("10 mm", "10mm", "10 millimetres", "10-mm"),
        ("1.5 l", "1,5 l", "1.50l", "1.5 litres"),
        ("1500 w", "1,500 W", "1500 watts"),
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
