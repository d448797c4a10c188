"""Queries on the shipped catalogue, graded by the facts of the products. Pure."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwater.rag.evaluation.judged import Grade
from headwater.rag.evaluation.shop.products import Item
from headwater.rag.evaluation.shop.vocabulary import COLORS, Type

Test = Callable[[Item], bool]
QUERIES_A_KIND = 70
MOST_EXACT = 40


@dataclass(frozen=True, slots=True)
class QueryIntent:
    """The buyer's intent. One failed `tests` entry makes a substitute; `unwanted` makes it irrelevant."""

    text: str
    type: Type
    tests: tuple[Test, ...] = ()
    unwanted: tuple[Test, ...] = ()


def grade(item: Item, wanted: QueryIntent) -> Grade:
    """Grade how well a product answers."""
    if item.type is not wanted.type or any(test(item) for test in wanted.unwanted):
        return "I"
    if item.is_complement:
        return "C"
    failed = sum(not test(item) for test in wanted.tests)
    return "E" if failed == 0 else "S" if failed == 1 else "C"


def draw_queries(items: Sequence[Item], draw: random.Random) -> list[tuple[str, QueryIntent]]:
    """Return kinds and queries; each has an exact answer, and not very many."""
    products = [item for item in items if not item.is_complement]
    found: list[tuple[str, QueryIntent]] = []
    seen: set[str] = set()
    for kind, write in _KINDS.items():
        written = 0
        while written < QUERIES_A_KIND:
            wanted = write(draw.choice(products), draw)
            if wanted is None or wanted.text in seen:
                continue
            exact = sum(grade(item, wanted) == "E" for item in items)
            if 1 <= exact <= MOST_EXACT:
                seen.add(wanted.text)
                found.append((kind, wanted))
                written += 1
    return found


def _name(item: Item, draw: random.Random) -> str:
    return draw.choice((item.type.name, item.type.name, *item.type.others))


def _same(field: str, item: Item) -> Test:
    value = getattr(item, field)
    return lambda other: bool(getattr(other, field) == value)


def _write_navigational(item: Item, draw: random.Random) -> QueryIntent:
    name = _name(item, draw)
    brand, model = _same("brand", item), _same("model", item)
    texts: tuple[tuple[str, tuple[Test, ...]], ...] = (
        (f"{item.brand} {item.model}", (brand, model)),
        (f"{item.model} {name}", (model,)),
        (f"{item.brand} {name}", (brand,)),
        (f"{name} from {item.brand} in {item.color}", (brand, _same("color", item))),
    )
    text, tests = draw.choice(texts)
    return QueryIntent(text.lower(), item.type, tests)


def _write_attribute(item: Item, draw: random.Random) -> QueryIntent:
    name, limit = _name(item, draw), _round_up(item.price)
    feature = draw.choice(item.features)
    color, material, size = _same("color", item), _same("material", item), _same("size", item)
    cheap = _cheaper(limit)
    unit = item.category.size_unit
    texts: tuple[tuple[str, tuple[Test, ...]], ...] = (
        (f"{item.color} {name}", (color,)),
        (f"{item.color} {item.material} {name}", (color, material)),
        (f"{item.material} {name} under {limit} euros", (material, cheap)),
        (f"{feature.name} {name} less than {limit}", (lambda other: feature in other.features, cheap)),
        (f"{name} {item.size} {unit}", (size,)),
        (f"{item.size}{unit} {name} {item.color}", (size, color)),
        (f"{feature.name} {name}", (lambda other: feature in other.features,)),
        (f"{item.material} {name}s", (material,)),
    )
    text, tests = draw.choice(texts)
    return QueryIntent(text, item.type, tests)


def _write_need(item: Item, draw: random.Random) -> QueryIntent:
    feature = draw.choice(item.features)
    text = draw.choice(
        (
            f"something to {item.type.wish} {feature.need}",
            f"{_name(item, draw)} {feature.need}",
            f"I want to {item.type.wish}, {feature.need}",
            f"what helps to {item.type.wish} {feature.need}?",
        )
    )
    return QueryIntent(text, item.type, (lambda other: feature in other.features,))


def _write_typo_or_negation(item: Item, draw: random.Random) -> QueryIntent | None:
    return _write_negation(item, draw) if draw.random() < 0.5 else _write_typo(item, draw)


def _write_typo(item: Item, draw: random.Random) -> QueryIntent | None:
    wanted = draw.choice((_write_attribute, _write_navigational))(item, draw)
    words = wanted.text.split(" ")
    long = [number for number, word in enumerate(words) if len(word) >= 5 and word.isalpha()]
    if not long:
        return None
    for number in draw.sample(long, min(len(long), draw.choice((1, 1, 2)))):
        words[number] = misspell(words[number], draw)
    return QueryIntent(" ".join(words), wanted.type, wanted.tests)


def misspell(word: str, draw: random.Random) -> str:
    """Misspell: omit, double or replace one letter, or swap it with the next."""
    place = draw.randrange(1, len(word) - 1)
    letter = draw.choice("aeioustnr")
    return draw.choice(
        (
            word[:place] + word[place + 1 :],
            word[:place] + word[place] + word[place:],
            word[:place] + letter + word[place + 1 :],
            word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        )
    )


def _write_negation(item: Item, draw: random.Random) -> QueryIntent | None:
    name = _name(item, draw)
    lacking = [feature for feature in item.features if feature.lack]
    color = draw.choice([other for other in COLORS if other != item.color])
    material = draw.choice([other for other in item.category.materials if other != item.material])
    has_color, has_material = (lambda other: other.color == color), (lambda other: other.material == material)
    texts: list[tuple[str, tuple[Test, ...], tuple[Test, ...]]] = [
        (f"{name} not {color}", (), (has_color,)),
        (f"{item.color} {name} but no {material}", (_same("color", item),), (has_material,)),
        (f"{item.material} {name} except {color}", (_same("material", item),), (has_color,)),
    ]
    if lacking:
        feature = draw.choice(lacking)
        text = f"{name} without {feature.lack}"
        return QueryIntent(text, item.type, (), (lambda other: feature not in other.features,))
    text, tests, unwanted = draw.choice(texts)
    return QueryIntent(text, item.type, tests, unwanted)


def _round_up(price: float) -> int:
    step = 5 if price < 50 else 20 if price < 200 else 50
    return (int(price / step) + 1) * step


def _cheaper(limit: int) -> Test:
    return lambda other: other.price < limit


_KINDS: Mapping[str, Callable[[Item, random.Random], QueryIntent | None]] = {
    "navigational": _write_navigational,
    "attribute": _write_attribute,
    "need": _write_need,
    "typo or negation": _write_typo_or_negation,
}
