"""The look of products on the page."""

from collections.abc import Iterator

from pydantic import Field

from headwater.config.section import FieldNames, Patterns, Section

MAX_EXAMPLES = 12


class PageConfig(Section):
    """The columns that the page of `headwater serve` shows of a product.

    They are columns of the index: those of `search.fields`, if it is set, else all scalar columns except
    those of `search.text`.
    """

    title: str | None = Field(
        None,
        description="Column with the name of a product. Default: the column of `text` with the greatest "
        "weight.",
    )
    price: str | None = Field(
        None,
        description="Column with the price, in the currency of the row's column `currency`, else of "
        "`search.answer.currency`. Default: the first number whose column has `price` or `cost` in its name.",
    )
    link: str | None = Field(
        None,
        description="Column with the address of a product's own page: an `http` or `https` URL, or a path on "
        "this site such as `/products/p1`. Other values are not shown.",
    )
    image: str | None = Field(
        None,
        description="Column with the address of a product's image: an `https` URL, or a path on this site. "
        "Other values are not shown.",
    )
    facts: FieldNames | None = Field(
        None,
        description="Columns listed below the text. Default: the first six fields with short values.",
    )
    sort: FieldNames = Field(
        (), description="Columns by which visitors can sort, in addition to relevance and price."
    )
    # A question may contain commas, so a single one is not split at them.
    examples: Patterns = Field((), description="Questions that the empty page offers, at most 12.")

    def iter_columns(self) -> Iterator[tuple[str, str]]:
        """Yield each named column, with the key that names it."""
        for key in ("title", "price", "link", "image"):
            if name := getattr(self, key):
                yield key, name
        yield from (("facts", name) for name in self.facts or ())
        yield from (("sort", name) for name in self.sort)
