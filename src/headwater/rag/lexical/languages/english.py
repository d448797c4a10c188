"""English: also the language of a text that has words of none."""

from headwater.rag.lexical.languages.language import Language

_FUNCTION_WORDS = frozenset({
    "a", "about", "all", "also", "am", "an", "and", "any", "anyone", "anything", "are", "as", "at",
    "be", "been", "being", "both", "but", "buy", "by", "can", "could", "did", "do", "does", "doing",
    "each", "either", "else", "find", "for", "from", "get", "gets", "give", "given", "had", "has",
    "have", "having", "he", "her", "hers", "him", "his", "how", "i", "id", "if", "im", "in", "into",
    "is", "it", "its", "ive", "just", "let", "like", "looking", "me", "more", "most", "much", "my",
    "need", "needs", "of", "on", "one", "ones", "onto", "or", "other", "our", "ours", "own", "please",
    "search", "she", "should", "show", "so", "some", "somebody", "someone", "something", "such",
    "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "very", "want", "wants", "was", "we", "were", "what", "when", "where",
    "whether", "which", "while", "who", "whom", "whose", "why", "will", "wish", "with", "would",
    "you", "your", "yours",
})  # fmt: skip

# Plurals and spellings that a stemmer does not unify.
IRREGULAR = {
    "knives": "knife", "leaves": "leaf", "shelves": "shelf", "halves": "half", "calves": "calf",
    "scarves": "scarf", "loaves": "loaf", "wolves": "wolf", "hooves": "hoof", "thieves": "thief",
    "wives": "wife", "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "geese": "goose", "people": "person", "grey": "gray", "aluminum": "aluminium",
    "tyre": "tire", "tyres": "tire", "mould": "mold", "pyjamas": "pajama", "pajamas": "pajama",
    "jewellery": "jewelry", "cosy": "cozy", "plough": "plow",
}  # fmt: skip

ENGLISH = Language(
    name="english",
    code="en",
    function_words=_FUNCTION_WORDS,
    prose_words=frozenset({
        "after", "before", "during", "even", "no", "not", "off", "only", "out", "over", "under",
        "up", "within", "without",
    }),
    negators=frozenset({
        "without", "no", "not", "except", "excluding", "exclude", "excludes", "minus", "lacking", "avoid",
        "never", "nor",
    }),
    two_word_negators=frozenset({
        ("other", "than"), ("anything", "but"), ("everything", "but"), ("all", "but"), ("instead", "of"),
        ("rather", "than"), ("apart", "from"), ("free", "of"), ("free", "from"), ("not", "want"),
        ("not", "have"), ("not", "like"), ("not", "contain"), ("not", "include"),
    }),
    # "does not slip"
    verbal={"not": frozenset({
        "do", "does", "did", "can", "could", "need", "must", "should", "will", "would", "may", "might",
        "has", "have",
    })},
    fillers=frozenset({
        "a", "an", "any", "the", "in", "made", "of", "out", "with", "have", "has", "having", "contain",
        "containing", "color", "colored", "colour", "coloured", "is", "are", "be", "from", "for", "by",
        "it", "them", "using", "used",
    }),
    joiners=frozenset({"or", "nor", "and"}),
    also=frozenset({"and"}),
    relations=(r"for", r"fits", r"fit", r"to\s+fit", r"compatible\s+with", r"suitable\s+for"),
    ends=frozenset({
        "for", "with", "without", "that", "which", "who", "whose", "to", "in", "on", "at", "from", "of",
        "by", "under", "below", "over", "above", "less", "more", "than", "not", "no", "except",
        "excluding", "made", "as", "but", "and", "or", "between", "up", "max", "maximum", "min",
        "minimum", "where", "when", "if",
    }),
)  # fmt: skip
