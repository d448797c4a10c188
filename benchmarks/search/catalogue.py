"""A shop of any size, of the shipped generator, in a vector store or the engine of this process."""

import random
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding import Embedder, build_embedder
from headwater.rag.evaluation.judged import JudgedProduct
from headwater.rag.evaluation.shop.products import build_items
from headwater.rag.evaluation.shop.queries import draw_queries
from headwater.rag.lexical.sparse import SPARSE_NAMES, SparseEncoder
from headwater.rag.vector_stores.protocol import Checkpoint, FieldKind, IndexSpec, Point, VectorStore
from headwater.rag.vector_stores.qdrant_edge.index import EdgeIndex
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore

COLLECTION = "bench"
VERSION = "v0001"
_PAGE = 2_000


def build_default_embedder() -> Embedder:
    """The one that ships."""
    return build_embedder(EmbedderConfig(), {})


def list_queries(number: int) -> list[str]:
    """Questions to the shop, of all kinds, the same each time."""
    draw = random.Random(7)
    queries = [wanted.text for _, wanted in draw_queries(build_items(random.Random(1)), draw)]
    return [queries[at % len(queries)] for at in range(number)]


def fill_folder(folder: Path, products: int) -> None:
    """An index in a folder; see `fill_store`."""
    store = EdgeVectorStore(folder, COLLECTION)
    fill_store(store, products)
    store.close()


def fill_store(store: VectorStore, products: int) -> None:
    """A live version with so many products, as `index build` makes one."""
    embedder, encoder = build_default_embedder(), SparseEncoder()
    kinds: dict[str, FieldKind] = {
        "category": "keyword",
        "brand": "keyword",
        "color": "keyword",
        "material": "keyword",
        "price": "number",
    }
    index = store.create(VERSION, IndexSpec(embedder.dimensions, SPARSE_NAMES, "bench", kinds))
    rows = islice(_iter_products(), products)
    while page := list(islice(rows, _PAGE)):
        texts = [f"{one.title}\n{one.description}" for one in page]
        vectors = embedder.embed_passages(texts)
        index.upsert(
            [
                Point(
                    chunk_id=f"00000000-0000-4000-8000-{int(one.product_id):012d}",
                    row_key=one.product_id,
                    chunk_number=0,
                    text=text,
                    content_hash="",
                    fields_hash="",
                    instant="",
                    dense=vector.tolist(),
                    sparse=encoder.encode_passage(text, one.fields),
                    fields=one.fields,
                    stems=encoder.encode_stems(text),
                )
                for one, text, vector in zip(page, texts, vectors, strict=True)
            ]
        )
    index.write_checkpoint(Checkpoint("bench", 1, ""), None)
    index.optimize()
    store.set_live(VERSION)


def open_index(folder: Path) -> tuple[EdgeVectorStore, EdgeIndex]:
    """The live version; close the store at the end."""
    store = EdgeVectorStore(folder, COLLECTION)
    return store, store.open(VERSION)


def _iter_products() -> Iterator[JudgedProduct]:
    numbers = count(1)
    for seed in count(1):
        for item in build_items(random.Random(seed)):
            made = item.product
            yield JudgedProduct(str(next(numbers)), made.title, made.description, made.fields)
