"""Dutch."""

from headwater.rag.lexical.languages.language import Language

DUTCH = Language(
    name="dutch",
    code="nl",
    function_words=frozenset({
        "de", "het", "een", "en", "of", "je", "jouw", "zijn", "dit", "dat", "deze", "die", "is",
        "wordt", "kan", "voor", "met", "van", "naar", "te", "in", "op", "aan", "uit", "bij", "over",
        "om", "als", "ook", "nog", "zeer",
    }),
    question_words=frozenset({
        "maar", "ik", "jij", "hij", "zij", "ze", "wij", "we", "jullie", "mij", "mijn", "haar",
        "ons", "onze", "hun", "was", "ben", "worden", "heeft", "heb", "hebben", "kunnen", "men",
        "zich", "hoe", "wat", "wie", "waar", "wanneer", "al", "erg", "zo", "er", "iets", "iemand",
        "graag", "zoek", "nodig", "wil", "kopen", "waarmee",
    }),
    prose_words=frozenset({
        "alle", "door", "niet", "onder", "tot", "uw", "zonder",
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
