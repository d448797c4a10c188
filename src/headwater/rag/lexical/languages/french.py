"""French."""

from headwater.rag.lexical.languages.language import Language

FRENCH = Language(
    name="french",
    stop_words=frozenset({
        "le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "et", "ou", "mais", "je", "j", "tu",
        "il", "elle", "on", "nous", "vous", "ils", "elles", "me", "m", "te", "se", "s", "moi", "mon",
        "ma", "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "leur",
        "leurs", "ce", "cet", "cette", "ces", "c", "est", "sont", "suis", "etait", "ai", "as", "ont",
        "avoir", "etre", "que", "qu", "qui", "quoi", "dont", "quand", "comme", "si", "en", "y", "a", "au",
        "aux", "dans", "par", "pour", "sur", "sous", "avec", "chez", "plus", "tres", "aussi", "bien",
        "tout", "toute", "tous", "toutes", "ne", "n", "quelque", "chose", "quelqu", "aime", "cherche",
        "voudrais", "veux", "besoin", "acheter", "merci",
    }),
    negators=frozenset({"sans", "pas", "sauf", "aucun", "aucune", "ni", "excepte", "hormis"}),
    two_word_negators=frozenset({("plutot", "que"), ("autre", "que")}),
    fillers=frozenset({
        "un", "une", "le", "la", "les", "l", "de", "d", "du", "des", "en", "a", "avec", "couleur",
    }),
    joiners=frozenset({"ou", "ni", "et"}),
    also=frozenset({"et"}),
    relations=(r"pour", r"compatible\s+avec", r"adapte\s+a", r"adapté\s+à"),
    ends=frozenset({
        "pour", "avec", "sans", "en", "de", "d", "du", "des", "a", "au", "aux", "dans", "sur", "sous",
        "chez", "par", "que", "qui", "quand", "dont", "moins", "plus", "pas", "sauf", "mais", "et", "ou",
        "entre", "contre",
    }),
)  # fmt: skip
