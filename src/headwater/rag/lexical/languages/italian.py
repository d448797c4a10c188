"""Italian."""

from headwater.rag.lexical.languages.language import Language

ITALIAN = Language(
    name="italian",
    code="it",
    function_words=frozenset({
        "il", "lo", "la", "i", "gli", "le", "un", "uno", "una", "e", "ed", "o", "si", "tuo", "tua",
        "suo", "sua", "sono", "che", "come", "di", "del", "della", "dei", "delle", "al", "alla",
        "ai", "alle", "dal", "dalla", "nel", "nella", "in", "con", "su", "sul", "sulla", "per",
        "tra", "piu", "anche",
    }),
    question_words=frozenset({
        "l", "ma", "io", "tu", "lui", "lei", "noi", "voi", "loro", "mi", "ti", "ci", "vi", "mio",
        "mia", "miei", "mie", "nostro", "nostra", "questo", "questa", "questi", "queste", "quello",
        "quella", "sia", "essere", "ho", "ha", "hanno", "chi", "cui", "quando", "dove", "se",
        "dello", "allo", "da", "dai", "nei", "nelle", "fra", "molto", "tutto", "tutti", "qualcosa",
        "qualcuno", "vorrei", "voglio", "cerco", "comprare", "piace",
    }),
    prose_words=frozenset({
        "fino", "non", "ogni", "senza", "sue", "suoi", "tue", "tuoi",
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
