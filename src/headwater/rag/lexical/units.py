"""Units of measures, each with its base unit: "60 cm", "0.6 m", "600 millimetres" are one measure. Pure."""

from decimal import Decimal, InvalidOperation

# Base unit, factor, spellings (folded, in the languages of `languages/`).
_LINES = """
    mm 1     mm millimetre millimetres millimeter millimeters millimetri milimetros
    mm 10    cm centimetre centimetres centimeter centimeters centimetri centimetros zentimeter
    mm 1000  m metre metres meter meters metri metro metros
    m 1000   km kilometre kilometres kilometer kilometers
    in 1     in inch inches zoll pouce pouces pulgada pulgadas pollici polegadas
    ft 1     ft foot feet
    g 1      g gram grams gramme grammes gr gramm gramos grammi
    g 1000   kg kilo kilos kilogram kilograms kilogramm kilogrammes kilogramos
    oz 1     oz ounce ounces
    lb 1     lb lbs pound pounds
    ml 1     ml millilitre millilitres milliliter milliliters mililitros
    ml 10    cl centilitre centilitres
    ml 1000  l litre litres liter liters ltr litro litros litri
    w 1      w watt watts
    w 1000   kw kilowatt kilowatts
    v 1      v volt volts voltios
    a 1      a amp amps ampere amperes
    mah 1    mah
    wh 1     wh
    wh 1000  kwh
    h 1      h hour hours hr hrs stunde stunden heure heures hora horas ore uur
    min 1    min minute minutes minuten minutos minuti
    gb 1     gb gigabyte gigabytes
    gb 1000  tb terabyte terabytes
    mb 1     mb megabyte megabytes
    hz 1     hz hertz
    hz 1000  khz
    ghz 1    ghz
    db 1     db decibel decibels
    lm 1     lm lumen lumens lumenes
    k 1      k kelvin
    mp 1     mp megapixel megapixels
    px 1     px pixel pixels
    dpi 1    dpi
    fps 1    fps
    rpm 1    rpm
    bar 1    bar
    psi 1    psi
    nm 1     nm
    qt 1     qt quart quarts
    qm 1     qm sqm"""

_UNITS = {
    spelling: (line.split()[0], Decimal(line.split()[1]))
    for line in _LINES.strip().splitlines()
    for spelling in line.split()[2:]
}
_NAMES = {spelling: line.split()[2] for line in _LINES.strip().splitlines() for spelling in line.split()[2:]}
SPELLINGS = frozenset(_UNITS)
_BASES = frozenset(base for base, _ in _UNITS.values())


def is_unit(word: str) -> bool:
    """True for a spelling of a unit."""
    return word in _UNITS


def name_unit(word: str) -> str | None:
    """Return the usual spelling of the same unit; None for a word that is no unit."""
    return _NAMES.get(word)


def write_measure(number: str, unit: str) -> str:
    """Return a number and its unit as one word, in the base unit: `1.5`, `kw` is `1500w`."""
    base, factor = _UNITS[unit]
    try:
        amount = Decimal(number) * factor
    except InvalidOperation:
        # 1.2.3 is no number.
        return number + base
    return f"{amount.normalize():f}{base}"


def is_measure(word: str) -> bool:
    """True for the output of `write_measure`."""
    return word[:1].isdigit() and word.lstrip("0123456789.") in _BASES
