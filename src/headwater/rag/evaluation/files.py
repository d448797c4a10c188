"""Reads and writes judged data as JSON lines, plain or gzipped: catalogue, queries, judgements."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from headwater.errors import UsageError
from headwater.rag.evaluation.judged import GAINS, JudgedProduct, JudgedQuery, JudgedSet, Split
from headwater.rag.field_value import FieldValue

NAMES = ("catalogue", "queries", "judgements")
_IDS = ("product_id", "id", "item_id", "asin")
_TITLES = ("title", "name", "product_title", "product_name")
_TEXTS = ("description", "text", "body", "product_description")
_QUERY_IDS = ("query_id", "id", "qid")
_QUERIES = ("query", "text")
_GRADES = ("grade", "label", "gain", "relevance", "esci_label")
_WORDS = {"exact": "E", "substitute": "S", "complement": "C", "irrelevant": "I", "partial": "S"}
_HELD_OUT = ("held-out", "held_out", "heldout", "test", "")
_TOP_GAIN = GAINS["E"]


def read_shipped() -> JudgedSet:
    """Return the catalogue that ships with the package."""
    with as_file(files("headwater.rag.evaluation") / "data") as folder:
        return read_judged(*(folder / f"{name}.jsonl.gz" for name in NAMES))


def read_hopeless() -> list[str]:
    """Return queries that the shipped catalogue cannot answer."""
    text = (files("headwater.rag.evaluation") / "data" / "hopeless.txt").read_text("utf-8")
    return text.splitlines()


def read_judged(catalogue: Path | None, queries: Path, judgements: Path) -> JudgedSet:
    """Read the three files; a gate needs no catalogue.

    Ids may be text or numbers, and columns may have common aliases. Raises `UsageError` with file and line
    for unreadable data and for a judgement of an unknown query, and when no query has a judgement.
    """
    rows = _iter_rows(catalogue) if catalogue else ()
    products = [_to_product(row, where) for where, row in rows]
    asked = [_to_query(row, where) for where, row in _iter_rows(queries)]
    known = {query.query_id for query in asked}
    graded: dict[str, dict[str, float]] = {}
    for where, row in _iter_rows(judgements):
        query = str(_find(row, ("query_id", "qid"), where))
        if query not in known:
            raise UsageError(
                f"{where}: no query has the id {query!r}",
                hint=f"add it to {queries}, or remove the judgement",
            )
        product = str(_find(row, _IDS, where))
        graded.setdefault(query, {})[product] = _to_gain(_find(row, _GRADES, where), where)
    if (catalogue and not products) or not graded:
        raise UsageError(
            f"nothing to evaluate: {len(products)} products in {catalogue} "
            f"and {len(graded)} judged queries in {judgements}",
            hint="each file needs at least one line",
        )
    return JudgedSet(products, asked, _scale(graded))


def write_judged(judged: JudgedSet, folder: Path) -> None:
    """Write the three files, gzipped; the same set gives the same bytes."""
    rows: dict[str, Iterable[Mapping[str, object]]] = {
        "catalogue": (
            {"id": one.product_id, "title": one.title, "description": one.description, **one.fields}
            for one in judged.products
        ),
        "queries": (
            {"query_id": one.query_id, "query": one.text, "kind": one.kind, "split": one.split}
            for one in judged.queries
        ),
        "judgements": (
            {"query_id": query, "product_id": product, "grade": letter}
            for query, gains in judged.gains.items()
            for product, gain in gains.items()
            for letter, worth in GAINS.items()
            if worth == gain
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in rows.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows as JSON lines. Raises `UsageError` when the file cannot be written."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="specify a file to write") from error


def _iter_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location and row of each non-empty line."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="specify a file of JSON lines") from error
    except (UnicodeDecodeError, EOFError) as error:
        raise UsageError(f"{path}: not UTF-8: {error}", hint="specify a file of JSON lines") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{where}: not JSON: {error}", hint="write one JSON object per line") from error
        if not isinstance(row, dict):
            raise UsageError(
                f"{where}: {type(row).__name__}, not a JSON object", hint="write one JSON object per line"
            )
        yield where, row


def _find(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise UsageError(
        f"{where}: no field {' or '.join(names)}; fields: {', '.join(row) or 'none'}",
        hint="add one of these fields",
    )


def _to_product(row: Mapping[str, Any], where: str) -> JudgedProduct:
    identity, title = str(_find(row, _IDS, where)), str(_find(row, _TITLES, where))
    description = next((str(row[name]) for name in _TEXTS if row.get(name)), "")
    taken = {next(name for name in names if row.get(name) is not None) for names in (_IDS, _TITLES)}
    taken.update(name for name in _TEXTS if name in row)
    rest = {name: value for name, value in row.items() if name not in taken}
    fields = {name: field for name, value in _flatten(rest) if (field := _to_field(value)) is not None}
    return JudgedProduct(identity, title, description, fields)


def _flatten(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Flatten `{"attributes": {"color": "red"}}` to `attributes.color`."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _to_field(value: object) -> FieldValue:
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return list(value)
    return None


def _to_query(row: Mapping[str, Any], where: str) -> JudgedQuery:
    split = str(row.get("split") or "").lower()
    if split not in (*_HELD_OUT, "tuning", "train"):
        raise UsageError(f"{where}: invalid split {split!r}", hint="use tuning or held-out, or omit it")
    chosen: Split = "held-out" if split in _HELD_OUT else "tuning"
    kind = str(row.get("kind") or row.get("type") or "all")
    return JudgedQuery(str(_find(row, _QUERY_IDS, where)), str(_find(row, _QUERIES, where)), kind, chosen)


def _to_gain(grade: object, where: str) -> float:
    """Return letters as gains, and numbers as negative values until the greatest is known."""
    if isinstance(grade, str):
        letter = _WORDS.get(grade.strip().lower(), grade.strip().upper())
        if letter in GAINS:
            return float(GAINS[letter])
    try:
        number = float(str(grade))
    except ValueError:
        number = -1.0
    if isinstance(grade, bool) or not 0 <= number < float("inf"):
        raise UsageError(f"{where}: invalid grade {grade!r}", hint="use E, S, C or I, or a number from 0")
    return -number


def _scale(graded: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Scale to integers, as trec_eval requires; the greatest number maps to the gain of E."""
    top = max((-gain for gains in graded.values() for gain in gains.values()), default=0.0)
    return {
        query: {
            product: round(gain if gain >= 0 else -gain / top * _TOP_GAIN) for product, gain in gains.items()
        }
        for query, gains in graded.items()
    }
