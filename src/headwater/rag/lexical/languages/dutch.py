"""Dutch."""

from headwater.rag.lexical.languages.language import Language

DUTCH = Language(
    name="dutch",
    stop_words=frozenset({
        "de", "het", "een", "en", "of", "maar", "ik", "jij", "je", "hij", "zij", "ze", "wij", "we",
        "jullie", "mij", "mijn", "jouw", "zijn", "haar", "ons", "onze", "hun", "dit", "dat", "deze",
        "die", "is", "was", "ben", "wordt", "worden", "heeft", "heb", "hebben", "kan", "kunnen", "men",
        "zich", "voor", "met", "van", "naar", "te", "in", "op", "aan", "uit", "bij", "over", "om", "als",
        "hoe", "wat", "wie", "waar", "wanneer", "ook", "nog", "al", "zeer", "erg", "zo", "er", "iets",
        "iemand", "graag", "zoek", "nodig", "wil", "kopen", "waarmee",
    }),
    negators=frozenset({"zonder", "geen", "niet", "behalve", "uitgezonderd", "noch"}),
    verbal={"niet": frozenset({"die", "dat", "kan", "mag", "moet", "zich", "men", "het"})},
    fillers=frozenset({"een", "de", "het", "in", "uit", "met", "van", "kleur"}),
    joiners=frozenset({"of", "noch", "en"}),
    also=frozenset({"en"}),
    relations=(r"voor", r"geschikt\s+voor", r"compatibel\s+met"),
    ends=frozenset({
        "voor", "met", "zonder", "van", "uit", "die", "dat", "om", "in", "op", "aan", "bij", "onder",
        "boven", "tot", "niet", "geen", "behalve", "maar", "en", "of", "waar", "wanneer", "tegen",
        "tussen",
    }),
)  # fmt: skip
