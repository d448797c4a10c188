"""German."""

from headwater.rag.lexical.languages.language import Language

GERMAN = Language(
    name="german",
    stop_words=frozenset({
        "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines",
        "und", "oder", "aber", "ich", "du", "er", "sie", "es", "wir", "ihr", "mich", "mir", "mein",
        "meine", "meinen", "meiner", "meinem", "dein", "sein", "seine", "unser", "unsere", "euer", "ihre",
        "ihren", "ist", "sind", "war", "bin", "wird", "werden", "hat", "habe", "haben", "kann", "konnen",
        "man", "sich", "fur", "mit", "von", "vom", "zu", "zum", "zur", "im", "in", "am", "an", "auf",
        "aus", "bei", "beim", "nach", "uber", "unter", "um", "als", "wie", "was", "wer", "wo", "wenn",
        "dass", "damit", "auch", "nur", "noch", "schon", "sehr", "so", "da", "dann", "etwas", "jemand",
        "jemanden", "womit", "bitte", "suche", "suchen", "brauche", "mochte", "will", "kaufen", "gern",
        "gerne",
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
