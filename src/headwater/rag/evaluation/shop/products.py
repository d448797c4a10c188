"""Products of the shipped catalogue, drawn from the vocabulary. Pure: deterministic for a seed."""

import random
from dataclasses import dataclass

from headwater.rag.evaluation.judged import JudgedProduct
from headwater.rag.evaluation.shop.vocabulary import BRANDS, CATEGORIES, COLORS, Category, Feature, Type
from headwater.rag.field_value import FieldValue

PRODUCTS_A_TYPE = 30
COMPLEMENTS_A_TYPE = 4


@dataclass(frozen=True, slots=True)
class Item:
    """The facts of a product, apart from its description. A complement has its type's name in its title, and
    none of its features."""

    product: JudgedProduct
    category: Category
    type: Type
    brand: str
    model: str
    color: str
    material: str
    size: str
    price: float
    features: tuple[Feature, ...]
    is_complement: bool = False


def build_items(generator: random.Random) -> list[Item]:
    """Return all products in order of id."""
    items: list[Item] = []
    for category in CATEGORIES:
        for kind in category.types:
            for number in range(PRODUCTS_A_TYPE + COMPLEMENTS_A_TYPE):
                identity = f"p{len(items) + 1:04}"
                items.append(_build_item(identity, category, kind, number >= PRODUCTS_A_TYPE, generator))
    return items


def _build_item(
    identity: str, category: Category, kind: Type, is_complement: bool, draw: random.Random
) -> Item:
    low, high = category.prices
    price = round(low * (high / low) ** draw.random() * (0.3 if is_complement else 1), 2)
    features = () if is_complement else tuple(draw.sample(category.features, 2))
    bare = Item(
        JudgedProduct(identity, "", ""),
        category,
        kind,
        brand=draw.choice(BRANDS[category.name]),
        model=f"{draw.choice('ABDKLMRTVXZ')}{draw.choice('AEILNORSX')}{draw.randrange(10, 1000)}",
        color=draw.choice(COLORS),
        material=draw.choice(category.materials),
        size=f"{draw.choice(category.sizes):g}",
        price=price,
        features=features,
        is_complement=is_complement,
    )
    title, description = _write_title(bare, draw), _write_description(bare, draw)
    return Item(
        JudgedProduct(identity, title, description, _write_fields(bare)),
        *(getattr(bare, name) for name in Item.__slots__[1:]),
    )


def _write_fields(item: Item) -> dict[str, FieldValue]:
    return {
        "category": item.category.name,
        "brand": item.brand,
        "color": item.color,
        "material": item.material,
        "price": item.price,
    }


def _write_title(item: Item, draw: random.Random) -> str:
    if item.is_complement:
        return f"{item.brand} {item.type.complement} for {item.type.name}"
    # Some sellers use the buyers' words.
    name = item.type.name if draw.random() < 0.85 else draw.choice(item.type.others)
    patterns = (
        "{brand} {model} {name}",
        "{brand} {name} {model}, {color}",
        "{brand} {model} {material} {name}",
        "{feature} {name} by {brand} ({model})",
        "{name} {brand} {model} {size}{unit}",
    )
    title = draw.choice(patterns).format(
        brand=item.brand, model=item.model, name=name, color=item.color, material=item.material,
        feature=item.features[0].name, size=item.size, unit=item.category.size_unit,
    )  # fmt: skip
    return title[0].upper() + title[1:]


def _write_description(item: Item, draw: random.Random) -> str:
    sentences = [f"{_capital(feature.text)}." for feature in item.features]
    sentences += [text for chance, text in _list_sentences(item, draw) if draw.random() < chance]
    draw.shuffle(sentences)
    return " ".join(sentences) or f"By {item.brand}."


def _list_sentences(item: Item, draw: random.Random) -> list[tuple[float, str]]:
    """Return sentences with their probabilities; some name what the product is not, as sellers do."""
    unit, other = item.category.size_unit, draw.choice(item.category.types)
    space = draw.choice(("", " "))
    found = [
        (0.7, f"Comes in {item.color}."),
        (0.7, f"{_capital(item.material)} of good quality."),
        (0.7, f"Size {item.size}{space}{unit}."),
        (0.3, f"Also sold in {draw.choice(COLORS)}."),
        (0.3, f"Customers who looked at this also bought a {other.name}."),
        (0.6, f"{item.brand} stands behind it with a two year warranty."),
        (0.5, "Free returns within thirty days, and delivery in a plain box."),
    ]
    if item.is_complement:
        return [*found, (0.9, f"The {item.type.complement} that goes with any {item.type.name}.")]
    found += [
        (0.35, f"For all who want to {item.type.wish}."),
        (0.35, f"Goes well with our {item.type.complement}."),
    ]
    for feature in item.category.features:
        if feature.lack:
            has_it = feature in item.features
            found.append((0.3, f"No {feature.lack}.") if has_it else (0.5, f"With {feature.lack}."))
    return found


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
