"""The animated terminal of the README."""

import xml.etree.ElementTree as ET

import record_demo

SVG = "{http://www.w3.org/2000/svg}"


def test_pauses_are_shortened_long_lines_wrapped_and_the_end_left_out() -> None:
    long = "x" * (record_demo.COLUMNS + 5)
    shown = record_demo.shorten(
        [(0.0, "$ demo"), (60.0, long), (60.1, ""), (61.0, "Next steps (x):"), (62.0, "y")]
    )
    assert [text for _, text in shown] == ["$ demo", "x" * record_demo.COLUMNS, "x" * 5, ""]
    assert [round(at, 2) for at, _ in shown] == [0, 0.9, 0.9, 1.0]


def test_lines_appear_in_order_and_scroll_when_the_window_is_full() -> None:
    lines = [(number / 10, f"  line <{number}> & more") for number in range(record_demo.ROWS + 3)]
    picture = ET.fromstring(record_demo.draw(lines))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert texts[0] == "\u00a0\u00a0line\u00a0<0>\u00a0&\u00a0more"
    assert len(texts) == len(lines)
    begins = [float(str(one.get("begin")).rstrip("s")) for one in picture.iter(f"{SVG}set")]
    assert begins[: len(lines)] == [at for at, _ in lines]
    moves = [one.get("to") for one in picture.iter(f"{SVG}set") if one.get("attributeName") == "transform"]
    assert moves == [f"translate(0 {-record_demo.LINE * number})" for number in (1, 2, 3)]


def test_the_shipped_picture_is_one() -> None:
    picture = ET.parse(record_demo.PICTURE).getroot()
    shown = "".join(picture.itertext()).replace("\u00a0", " ")
    assert "$ headwater demo" in shown
    assert "every row is in its table exactly once" in shown
