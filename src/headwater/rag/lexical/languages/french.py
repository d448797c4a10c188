"""French."""

from headwater.rag.lexical.languages.language import Language

FRENCH = Language(
    name="french",
    code="fr",
    function_words=frozenset({
        "le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "et", "ou", "il", "elle",
        "nous", "vous", "son", "sa", "ses", "votre", "vos", "ce", "cette", "ces", "est", "sont",
        "que", "qui", "en", "a", "au", "aux", "dans", "par", "pour", "sur", "avec", "plus", "toute",
        "tous", "toutes", "ne",
    }),
    question_words=frozenset({
        "mais", "je", "j", "tu", "on", "ils", "elles", "me", "m", "te", "se", "s", "moi", "mon",
        "ma", "mes", "ton", "ta", "tes", "notre", "nos", "leur", "leurs", "cet", "c", "suis",
        "etait", "ai", "as", "ont", "avoir", "etre", "qu", "quoi", "dont", "quand", "comme", "si",
        "y", "sous", "chez", "tres", "aussi", "bien", "tout", "n", "quelque", "chose", "quelqu",
        "aime", "cherche", "voudrais", "veux", "besoin", "acheter", "merci",
    }),
    prose_words=frozenset({
        "grace", "jusqu", "pas", "pendant", "sans",
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
