"""Spanish."""

from headwater.rag.lexical.languages.language import Language

SPANISH = Language(
    name="spanish",
    stop_words=frozenset({
        "el", "la", "los", "las", "lo", "un", "una", "unos", "unas", "y", "e", "o", "u", "pero", "yo",
        "tu", "ella", "nosotros", "ellos", "me", "te", "se", "le", "les", "nos", "mi", "mis", "su", "sus",
        "nuestro", "nuestra", "este", "esta", "estos", "estas", "ese", "esa", "eso", "es", "son", "sea",
        "sean", "ser", "estoy", "hay", "ha", "he", "tiene", "tengo", "que", "quien", "cual", "cuando",
        "donde", "como", "si", "de", "del", "al", "a", "en", "con", "por", "para", "sobre", "entre",
        "hasta", "desde", "mas", "muy", "tambien", "ya", "todo", "toda", "todos", "todas", "algo",
        "alguien", "quiero", "busco", "necesito", "comprar", "gusta", "puedo", "pueda", "puedan",
    }),
    negators=frozenset({"sin", "no", "excepto", "salvo", "ni", "ningun", "ninguna", "nunca"}),
    verbal={"no": frozenset({"se", "me", "y", "puedo", "quiero"})},
    fillers=frozenset({
        "un", "una", "el", "la", "los", "las", "de", "del", "en", "con", "sea", "sean", "es", "que",
        "color",
    }),
    joiners=frozenset({"o", "ni", "y"}),
    also=frozenset({"y"}),
    relations=(r"para", r"compatible\s+con", r"adecuado\s+para"),
    ends=frozenset({
        "para", "con", "sin", "de", "del", "en", "a", "al", "por", "sobre", "que", "quien", "cuando",
        "donde", "menos", "mas", "no", "excepto", "salvo", "pero", "y", "o", "entre", "contra", "hasta",
    }),
)  # fmt: skip
