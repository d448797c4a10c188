"""Closed word classes of English, which no catalogue extends. They contain no product nouns."""

STOP_WORDS = frozenset({
    "a", "about", "all", "also", "am", "an", "and", "any", "anyone", "anything", "are", "as", "at",
    "be", "been", "being", "both", "but", "buy", "by", "can", "could", "did", "do", "does", "doing",
    "each", "either", "else", "find", "for", "from", "get", "gets", "give", "given", "had", "has",
    "have", "having", "he", "her", "hers", "him", "his", "how", "i", "id", "if", "im", "in", "into",
    "is", "it", "its", "ive", "just", "let", "like", "looking", "me", "more", "most", "much", "my",
    "need", "needs", "of", "on", "one", "ones", "onto", "or", "other", "our", "ours", "own", "please",
    "search", "she", "should", "show", "so", "some", "somebody", "someone", "something", "such", "than",
    "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to",
    "too", "very", "want", "wants", "was", "we", "were", "what", "when", "where", "whether", "which",
    "while", "who", "whom", "whose", "why", "will", "wish", "with", "would", "you", "your", "yours",
})  # fmt: skip

# Units after a number; the first spelling in a line represents the others.
_UNIT_LINES = """
    mm millimetre millimetres millimeter millimeters
    cm centimetre centimetres centimeter centimeters
    m metre metres meter meters
    km kilometre kilometres kilometer kilometers
    in inch inches
    ft foot feet
    g gram grams gramme grammes gr
    kg kilo kilos kilogram kilograms
    oz ounce ounces
    lb lbs pound pounds
    ml millilitre millilitres milliliter milliliters
    cl centilitre centilitres
    l litre litres liter liters ltr
    w watt watts
    kw kilowatt kilowatts
    v volt volts
    a amp amps ampere amperes
    mah
    wh
    h hour hours hr hrs
    min minute minutes
    gb gigabyte gigabytes
    tb terabyte terabytes
    mb megabyte megabytes
    hz hertz
    khz
    ghz
    db decibel decibels
    lm lumen lumens
    k kelvin
    mp megapixel megapixels
    px pixel pixels
    dpi
    fps
    rpm
    bar
    psi
    qm sqm"""
UNITS = {name: line.split()[0] for line in _UNIT_LINES.strip().splitlines() for name in line.split()}

# Plurals and spellings that a stemmer does not unify.
IRREGULAR = {
    "knives": "knife", "leaves": "leaf", "shelves": "shelf", "halves": "half", "calves": "calf",
    "scarves": "scarf", "loaves": "loaf", "wolves": "wolf", "hooves": "hoof", "thieves": "thief",
    "wives": "wife", "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "geese": "goose", "people": "person", "grey": "gray", "aluminum": "aluminium",
    "tyre": "tire", "tyres": "tire", "mould": "mold", "pyjamas": "pajama", "pajamas": "pajama",
    "jewellery": "jewelry", "cosy": "cozy", "plough": "plow",
}  # fmt: skip
