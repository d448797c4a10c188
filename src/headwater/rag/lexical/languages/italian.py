"""Italian."""

from headwater.rag.lexical.languages.language import Language

ITALIAN = Language(
    name="italian",
    stop_words=frozenset({
        "il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "e", "ed", "o", "ma", "io", "tu",
        "lui", "lei", "noi", "voi", "loro", "mi", "ti", "si", "ci", "vi", "mio", "mia", "miei", "mie",
        "tuo", "tua", "suo", "sua", "nostro", "nostra", "questo", "questa", "questi", "queste", "quello",
        "quella", "sono", "sia", "essere", "ho", "ha", "hanno", "che", "chi", "cui", "quando", "dove",
        "come", "se", "di", "del", "della", "dei", "delle", "dello", "al", "alla", "ai", "alle", "allo",
        "da", "dal", "dalla", "dai", "nel", "nella", "nei", "nelle", "in", "con", "su", "sul", "sulla",
        "per", "tra", "fra", "piu", "molto", "anche", "tutto", "tutti", "qualcosa", "qualcuno", "vorrei",
        "voglio", "cerco", "comprare", "piace",
    }),
    negators=frozenset({"senza", "non", "no", "tranne", "eccetto", "ne", "nessun", "nessuna"}),
    verbal={"non": frozenset({"che", "cui", "si", "mi"})},
    fillers=frozenset({
        "un", "uno", "una", "il", "lo", "la", "i", "gli", "le", "l", "di", "del", "della", "in", "con",
        "sia", "colore",
    }),
    joiners=frozenset({"o", "ne", "e"}),
    also=frozenset({"e"}),
    relations=(r"per", r"compatibile\s+con", r"adatto\s+a"),
    ends=frozenset({
        "per", "con", "senza", "di", "del", "della", "dei", "delle", "in", "a", "al", "alla", "da", "dal",
        "su", "sul", "che", "quando", "dove", "meno", "piu", "non", "tranne", "ma", "e", "o", "tra",
        "contro", "fino",
    }),
)  # fmt: skip
