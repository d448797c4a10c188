"""Sample data of a small web shop, deterministic for a seed. Pure; no network, no clock."""

import csv
import gzip
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, object]

OPENED_AT = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
CLICK_COLUMNS = ("click_id", "session", "page", "referrer", "product_id", "at", "ms")
PRODUCT_SCHEMA = pa.schema(
    [
        ("product_id", pa.string()),
        ("title", pa.string()),
        ("category", pa.string()),
        ("price", pa.float64()),
        ("stock", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("updated_at", pa.timestamp("us", "UTC")),
    ]
)

_THINGS = {
    "coffee": ("Espresso cups, set of 4", "Café au lait bowl", 'Filter "No. 4"', "Hand grinder"),
    "tea": ("抹茶 Matcha, 50 g", "Earl Grey", "Teekanne Grün", "Bamboo whisk"),
    "kitchen": ("Cast-iron pan", "Chef's knife", "Crème brûlée torch", "Smørrebrød board"),
    "home": ("Linen blanket", "Reading lamp", "Plant pot", "Wool rug"),
}
_ABOUT = {
    "Espresso cups, set of 4": "Four small porcelain cups for a short, strong shot.",
    "Café au lait bowl": "A wide bowl for milk coffee at breakfast.",
    'Filter "No. 4"': "Unbleached paper for pour-over brewing.",
    "Hand grinder": "A crank mill with a steel burr: grinds beans by hand, fine to coarse, without power.",
    "抹茶 Matcha, 50 g": "Stone-ground green tea powder from Uji.",
    "Earl Grey": "Black tea with oil of bergamot.",
    "Teekanne Grün": "A green ceramic pot for one litre.",
    "Bamboo whisk": "Eighty prongs that foam matcha.",
    "Cast-iron pan": "Pre-seasoned, for the stove and the oven.",
    "Chef's knife": "Twenty centimetres of carbon steel.",
    "Crème brûlée torch": "A small flame that browns sugar.",
    "Smørrebrød board": "Oiled oak for open sandwiches.",
    "Linen blanket": "Washed linen for summer nights.",
    "Reading lamp": "A warm light on a bendable arm.",
    "Plant pot": "Terracotta with a saucer.",
    "Wool rug": "Hand-woven, two metres by three.",
}
_CITIES = ("Lisboa", "Zürich", "København", "東京", "Kraków", "Boston", "São Paulo")
_PAGES = ("/", "/search", "/product", "/product", "/product", "/cart", "/checkout")
_REFERRERS = ("", "", "newsletter", "search, paid", "search", "friend's link")
_NEXT_STATUS: Mapping[str, tuple[str, ...]] = {
    "placed": ("paid", "paid", "paid", "cancelled"),
    "paid": ("packed",),
    "packed": ("shipped",),
    "shipped": ("delivered", "delivered", "delivered", "returned"),
}


def list_catalog() -> list[Row]:
    """Return all products as of the shop's opening."""
    titles = [(category, title) for category, titles in _THINGS.items() for title in titles]
    return [
        {
            "product_id": f"P-{100 + at}",
            "title": title,
            "category": category,
            "price": 4.5 + at * 7 % 60,
            "stock": 20 + at * 3 % 17,
            "tags": [category, "new"][: 1 + at % 2],
            "updated_at": OPENED_AT,
        }
        for at, (category, title) in enumerate(titles)
    ]


def list_shelf() -> list[Row]:
    """Return the catalog for visitors, with a description of each product."""
    kept = ("product_id", "title", "category", "price", "stock")
    return [
        {**{name: product[name] for name in kept}, "description": _ABOUT[str(product["title"])]}
        for product in list_catalog()
    ]


def iter_order_changes(rng: random.Random) -> Iterator[Row]:
    """Yield orders placed, paid, shipped ..., one change at a time, with distinct times."""
    catalog = list_catalog()
    open_orders: list[Row] = []
    numbers = count(10_001)
    for tick in count():
        if not open_orders or rng.random() < 0.45:
            order = _place_order(rng, f"O-{next(numbers)}", catalog)
        else:
            order = dict(open_orders.pop(rng.randrange(len(open_orders))))
            order["status"] = rng.choice(_NEXT_STATUS[str(order["status"])])
        order["updated_at"] = _write_time(OPENED_AT + timedelta(seconds=7 * tick))
        if order["status"] in _NEXT_STATUS:
            open_orders.append(order)
        yield order


def _place_order(rng: random.Random, order_id: str, catalog: Sequence[Row]) -> Row:
    lines = [
        {"product_id": product["product_id"], "quantity": rng.randint(1, 3), "price": product["price"]}
        for product in rng.sample(catalog, rng.randint(1, 3))
    ]
    amount = sum(float(str(line["price"])) * int(str(line["quantity"])) for line in lines)
    return {
        "order_id": order_id,
        "customer_id": rng.randint(1, 400),
        "city": rng.choice(_CITIES),
        "status": "placed",
        "amount": round(amount + 0.01, 2),
        "lines": lines,
    }


def iter_clicks(rng: random.Random) -> Iterator[Row]:
    """Yield page views; an absent product or referrer is None."""
    catalog = list_catalog()
    for number in count(1):
        page = rng.choice(_PAGES)
        at = OPENED_AT + timedelta(seconds=number, milliseconds=rng.randrange(1000))
        yield {
            "click_id": number,
            "session": f"{rng.getrandbits(32):08x}",
            "page": page,
            "referrer": rng.choice(_REFERRERS) or None,
            "product_id": rng.choice(catalog)["product_id"] if page == "/product" else None,
            "at": _write_time(at),
            "ms": rng.randint(20, 900),
        }


def iter_product_changes(rng: random.Random) -> Iterator[Row]:
    """Yield the whole catalog, then new prices and stocks."""
    catalog = list_catalog()
    yield from (dict(product) for product in catalog)
    for tick in count(1):
        product = rng.choice(catalog)
        product["price"] = round(float(str(product["price"])) * rng.choice((0.9, 1.05, 1.1)), 2)
        product["stock"] = rng.randrange(60)
        product["updated_at"] = OPENED_AT + timedelta(minutes=tick)
        yield dict(product)


def to_json_lines(rows: Sequence[Row]) -> bytes:
    """Return one JSON object per line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def to_csv(rows: Sequence[Row]) -> bytes:
    """Return CSV with a header; None is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CLICK_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def to_parquet(rows: Sequence[Row]) -> bytes:
    """Return products as one Parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=PRODUCT_SCHEMA), sink)
    return sink.getvalue()


def compress(data: bytes) -> bytes:
    """Compress with gzip, without a timestamp."""
    return gzip.compress(data, mtime=0)


def _write_time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
