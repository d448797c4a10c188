"""Spanish."""

from headwater.rag.lexical.languages.language import Language

SPANISH = Language(
    name="spanish",
    code="es",
    function_words=frozenset({
        "el", "la", "los", "las", "lo", "un", "una", "unos", "unas", "y", "o", "tu", "se", "su",
        "sus", "este", "esta", "estos", "es", "son", "que", "como", "de", "del", "al", "en", "con",
        "por", "para", "sobre", "hasta", "mas", "muy",
    }),
    question_words=frozenset({
        "e", "u", "pero", "yo", "ella", "nosotros", "ellos", "me", "te", "le", "les", "nos", "mi",
        "mis", "nuestro", "nuestra", "estas", "ese", "esa", "eso", "sea", "sean", "ser", "estoy",
        "hay", "ha", "he", "tiene", "tengo", "quien", "cual", "cuando", "donde", "si", "a", "entre",
        "desde", "tambien", "ya", "todo", "toda", "todos", "todas", "algo", "alguien", "quiero",
        "busco", "necesito", "comprar", "gusta", "puedo", "pueda", "puedan",
    }),
    prose_words=frozenset({
        "cada", "durante", "no", "sin", "tus",
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
