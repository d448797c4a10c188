"""Composes sentences of an answer from facts, in the languages whose sellers' texts are understood. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.product import Product, name_in_words
from headwater.rag.generation.sanitizing import end_sentence


@dataclass(frozen=True, slots=True)
class Wording:
    """The fixed words of answers in one language. `names` are those of common fields."""

    yes: str
    no: str
    opening: str
    nothing: str
    missing: str
    names: Mapping[str, str] = field(default_factory=dict)


def _name(
    price: str, brand: str, colour: str, size: str, weight: str, stock: str, material: str
) -> Mapping[str, str]:
    return MappingProxyType(
        {
            "price": price,
            "brand": brand,
            "color": colour,
            "colour": colour,
            "size": size,
            "weight": weight,
            "in stock": stock,
            "material": material,
        }
    )


WORDINGS: Mapping[str, Wording] = MappingProxyType(
    {
        "en": Wording("yes", "no", "These products match:", "No product matches.", "Not found: {words}."),
        "de": Wording(
            "ja",
            "nein",
            "Diese Produkte passen:",
            "Kein Produkt passt.",
            "Nicht gefunden: {words}.",
            _name("Preis", "Marke", "Farbe", "Größe", "Gewicht", "lieferbar", "Material"),
        ),
        "fr": Wording(
            "oui",
            "non",
            "Ces produits correspondent :",
            "Aucun produit ne correspond.",
            "Introuvable : {words}.",
            _name("prix", "marque", "couleur", "taille", "poids", "en stock", "matière"),
        ),
        "es": Wording(
            "sí",
            "no",
            "Estos productos encajan:",
            "Ningún producto coincide.",
            "No encontrado: {words}.",
            _name("precio", "marca", "color", "talla", "peso", "en stock", "material"),
        ),
        "it": Wording(
            "sì",
            "no",
            "Questi prodotti corrispondono:",
            "Nessun prodotto corrisponde.",
            "Non trovato: {words}.",
            _name("prezzo", "marca", "colore", "taglia", "peso", "disponibile", "materiale"),
        ),
        "pt": Wording(
            "sim",
            "não",
            "Estes produtos correspondem:",
            "Nenhum produto corresponde.",
            "Não encontrado: {words}.",
            _name("preço", "marca", "cor", "tamanho", "peso", "em estoque", "material"),
        ),
        "nl": Wording(
            "ja",
            "nee",
            "Deze producten passen:",
            "Geen product past.",
            "Niet gevonden: {words}.",
            _name("prijs", "merk", "kleur", "maat", "gewicht", "op voorraad", "materiaal"),
        ),
    }
)


def compose_line(
    product: Product,
    fields: Sequence[str],
    sentences: Sequence[str],
    wording: Wording,
    *,
    cites: bool = False,
) -> str:
    """Return one line about a product: title and price, sentences of its row, and values of its fields."""
    prices = list(product.iter_prices())
    asked = [name for name, _ in prices if name in fields] or [name for name, _ in prices[:1]]
    priced = [
        f"{_call(name, wording)} {_spell_price(value, product.currency)}"
        for name, value in prices
        if name in asked
    ]
    head = f"{product.title} ({', '.join(priced)})" if priced else product.title
    facts = [end_sentence(sentence) for sentence in sentences]
    facts += [end_sentence(_compose_field(product, name, wording)) for name in fields if name not in asked]
    line = f"{head}: {' '.join(facts)}" if facts else f"{head}."
    return f"{line} [{product.label}]" if cites else line


def compose_nothing(unmatched: Sequence[str], wording: Wording) -> str:
    """Return the text shown instead of an answer, with the words that no row contains."""
    if not unmatched:
        return wording.nothing
    return f"{wording.nothing} {wording.missing.format(words=', '.join(unmatched))}"


def _compose_field(product: Product, name: str, wording: Wording) -> str:
    called = _call(name, wording)
    return f"{called[:1].upper()}{called[1:]}: {_spell(product.fields[name], wording)}"


def _call(name: str, wording: Wording) -> str:
    words = name_in_words(name)
    return wording.names.get(words, words)


def _spell(value: FieldValue, wording: Wording) -> str:
    if isinstance(value, bool):
        return wording.yes if value else wording.no
    if isinstance(value, list):
        return ", ".join(value)
    return _spell_number(value) if isinstance(value, (int, float)) else str(value)


def _spell_price(value: float, currency: str | None) -> str:
    return f"{value:.2f} {currency}" if currency else _spell_number(value)


def _spell_number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(round(value, 6))
