"""German."""

from headwater.rag.lexical.languages.language import Language

GERMAN = Language(
    name="german",
    code="de",
    function_words=frozenset({
        "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "und",
        "oder", "ich", "du", "er", "sie", "es", "wir", "ihr", "dein", "sein", "seine", "ihre",
        "ihren", "ist", "sind", "war", "wird", "werden", "kann", "sich", "fur", "mit", "von", "vom",
        "zu", "zum", "zur", "im", "in", "am", "an", "auf", "aus", "bei", "beim", "nach", "uber",
        "unter", "als", "wie", "dass", "auch", "nur", "noch", "sehr", "so",
    }),
    question_words=frozenset({
        "eines", "aber", "mich", "mir", "mein", "meine", "meinen", "meiner", "meinem", "unser",
        "unsere", "euer", "bin", "hat", "habe", "haben", "konnen", "man", "um", "was", "wer", "wo",
        "wenn", "damit", "schon", "da", "dann", "etwas", "jemand", "jemanden", "womit", "bitte",
        "suche", "suchen", "brauche", "mochte", "will", "kaufen", "gern", "gerne",
    }),
    prose_words=frozenset({
        "bis", "dank", "deine", "durch", "ihrem", "ja", "liegt", "nicht", "ohne",
    }),
    negators=frozenset({
        "ohne", "kein", "keine", "keinen", "keinem", "keiner", "nicht", "ausser", "statt", "ausgenommen",
    }),
    verbal={"nicht": frozenset({
        "die", "der", "das", "den", "dem", "kann", "darf", "soll", "muss", "sich", "man", "noch", "es",
    })},
    fillers=frozenset({
        "ein", "eine", "einen", "einem", "einer", "der", "die", "das", "den", "dem", "in", "aus", "mit",
        "von", "jede", "jeden", "farbe",
    }),
    joiners=frozenset({"oder", "noch", "und"}),
    also=frozenset({"und"}),
    relations=(r"fur", r"für", r"passend\s+zu", r"geeignet\s+fur", r"geeignet\s+für", r"kompatibel\s+mit"),
    ends=frozenset({
        "fur", "mit", "ohne", "aus", "der", "die", "das", "den", "dem", "zum", "zur", "zu", "um", "im",
        "in", "an", "am", "auf", "bei", "beim", "von", "vom", "unter", "uber", "bis", "nicht", "kein",
        "keine", "keinen", "ausser", "aber", "und", "oder", "wenn", "wo", "wegen", "gegen", "zwischen",
    }),
)  # fmt: skip
