"""The vocabulary of the shipped catalogue. Search itself knows none of these words."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A kind of product.

    `others` are words of buyers that sellers do not use; `wish` describes its purpose without its name.
    """

    name: str
    others: tuple[str, ...]
    complement: str
    wish: str


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a product.

    `text` is the seller's wording, `need` that of a buyer who wants it. `lack` is the word after `without` in
    a query for it, or empty.
    """

    name: str
    text: str
    need: str
    lack: str = ""


@dataclass(frozen=True, slots=True)
class Category:
    """Types and their varying features; prices in euros."""

    name: str
    types: tuple[Type, ...]
    features: tuple[Feature, ...]
    materials: tuple[str, ...]
    prices: tuple[float, float]
    size_unit: str
    sizes: tuple[float, ...]


COLORS = ("black", "white", "red", "navy blue", "green", "grey", "yellow", "beige", "turquoise", "purple")

BRANDS: Mapping[str, tuple[str, ...]] = {
    "audio": ("Soniq", "Haldor", "Bellwave", "Ormond Audio"),
    "kitchen": ("Brasero", "Kettlewick", "Nordkok", "Saltmill"),
    "footwear": ("Tarnstep", "Velloro", "Marchfield", "Ostra"),
    "camping": ("Fellside", "Windrose", "Karvik", "Granite Peak"),
    "furniture": ("Lindqvist", "Oakhaus", "Morrow & Sons", "Plankton"),
    "lighting": ("Lumera", "Glowsmith", "Fotonik", "Candella"),
    "pets": ("Pawlish", "Whiskerton", "Tailmark", "Rufio"),
    "baby": ("Cradlewood", "Pippin", "Minilo", "Stork & Co"),
    "garden": ("Thornbury", "Verdano", "Greenacre", "Rakewell"),
    "fitness": ("Ironleaf", "Kinetiq", "Stride9", "Flexora"),
    "office": ("Papierhof", "Inkwell", "Deskara", "Typhon"),
    "bathroom": ("Aquamere", "Softloom", "Tidewell", "Linnen"),
    "travel": ("Voyalux", "Roamer", "Transito", "Carryon Club"),
}


def _types(*rows: tuple[str, str, str, str]) -> tuple[Type, ...]:
    return tuple(
        Type(name, tuple(others.split("|")), complement, wish) for name, others, complement, wish in rows
    )


def _features(*rows: tuple[str, ...]) -> tuple[Feature, ...]:
    return tuple(Feature(*row) for row in rows)


CATEGORIES = (
    Category(
        "audio",
        _types(
            ("headphones", "headset", "headphone case", "listen to music without disturbing anyone"),
            ("earbuds", "in-ear phones", "charging case", "hear podcasts while jogging"),
            ("portable speaker", "boombox", "speaker stand", "play songs at a picnic"),
            ("soundbar", "tv speaker", "wall bracket", "make films sound better in the living room"),
            ("turntable", "record player|vinyl player", "stylus brush", "listen to old vinyl albums"),
        ),
        _features(
            ("waterproof", "sealed against water to IPX7", "that I can use while swimming"),
            ("noise cancelling", "shuts out engine hum and chatter", "that keep a loud office quiet"),
            ("wireless", "connects over Bluetooth 5.3", "to use with no wires", "cable"),
            ("long battery life", "plays for 40 hours on one charge", "that last a whole weekend"),
            ("foldable", "folds flat into a pouch", "that fit in a small bag"),
        ),
        ("plastic", "aluminium", "walnut", "leather"),
        (25, 400),
        "mm",
        (10, 40, 50, 80),
    ),
    Category(
        "kitchen",
        _types(
            ("kettle", "water boiler", "descaler", "boil water for tea"),
            ("frying pan", "skillet", "pan protector", "fry eggs and pancakes"),
            ("chef's knife", "cooking knife", "sharpening stone", "chop vegetables"),
            ("blender", "smoothie maker", "blender bottle", "turn fruit into a drink"),
            ("coffee maker", "espresso machine", "paper filters", "brew a cup in the morning"),
        ),
        _features(
            ("dishwasher safe", "may be cleaned in the dishwasher", "that I need not wash by hand"),
            ("induction ready", "works on every hob, induction included", "for an induction stove"),
            ("non-stick", "nothing clings to its coating", "where food does not burn on", "coating"),
            ("quiet", "runs at only 45 decibels", "that does not wake the family"),
            ("temperature control", "set the heat to the degree", "to get exactly the right heat", "display"),
        ),
        ("stainless steel", "cast iron", "glass", "ceramic"),
        (15, 250),
        "l",
        (0.5, 1, 1.5, 2),
    ),
    Category(
        "footwear",
        _types(
            ("running shoes", "jogging trainers", "shoe laces", "train for a marathon"),
            ("hiking boots", "walking boots", "boot wax", "walk up mountains all day"),
            ("sandals", "flip flops", "foot cream", "wear on the beach"),
            ("slippers", "house shoes", "felt insoles", "keep feet warm at home"),
            ("rain boots", "wellies|gumboots", "boot rack", "walk through puddles"),
        ),
        _features(
            ("vegan", "made with no animal products", "that no animal died for", "leather"),
            ("wide fit", "cut roomy for broad feet", "for broad feet"),
            ("cushioned", "thick foam takes the shock out of each step", "that are easy on bad knees"),
            ("breathable", "mesh lets air through", "for feet that sweat"),
            ("non-slip", "the sole grips wet tiles", "so that I do not slide on wet floors", "laces"),
        ),
        ("suede", "rubber", "wool", "canvas"),
        (20, 220),
        "cm",
        (24, 26, 28, 30),
    ),
    Category(
        "camping",
        _types(
            ("tent", "shelter", "groundsheet", "sleep outside with the family"),
            ("sleeping bag", "mummy bag", "sleeping bag liner", "stay warm at night in the mountains"),
            ("backpack", "rucksack|knapsack", "rain cover", "carry gear on a long trek"),
            ("camping stove", "gas cooker", "gas cartridge", "cook dinner in the wild"),
            ("headlamp", "head torch", "spare batteries", "see the path after dark"),
        ),
        _features(
            ("ultralight", "weighs next to nothing", "for somebody who counts every gram"),
            ("storm proof", "stands up to gales", "for very windy places"),
            ("quick to set up", "ready in under a minute", "for beginners", "poles"),
            ("insulated", "keeps the cold out down to minus 15", "for winter trips"),
            ("repairable", "comes with patches and spare parts", "that can be mended", "zip"),
        ),
        ("nylon", "polyester", "titanium", "cotton"),
        (20, 500),
        "kg",
        (0.3, 0.9, 1.8, 3.5),
    ),
    Category(
        "furniture",
        _types(
            ("desk", "writing table", "cable tray", "work from home"),
            ("office chair", "swivel chair", "chair mat", "sit eight hours a day"),
            ("bookshelf", "bookcase", "bookends", "keep my novels in order"),
            ("sofa", "couch|settee", "throw blanket", "relax with friends in the lounge"),
            ("bedside table", "nightstand", "drawer liner", "put my glasses next to the bed"),
        ),
        _features(
            (
                "height adjustable",
                "goes up and down at the push of a button",
                "for tall and for short people",
            ),
            ("space saving", "made for small rooms", "for a tiny flat"),
            ("with storage", "hides a deep compartment", "where I can put things away", "drawers"),
            ("ergonomic", "supports the lower back", "for somebody whose back hurts"),
            ("easy to assemble", "needs no tools to put together", "that I can build alone", "screws"),
        ),
        ("oak", "pine", "steel", "velvet"),
        (60, 1200),
        "cm",
        (45, 80, 120, 180),
    ),
    Category(
        "lighting",
        _types(
            ("desk lamp", "reading light", "light bulb", "read late in the study"),
            ("floor lamp", "standing lamp", "lamp shade", "brighten a dark corner"),
            ("string lights", "fairy lights", "light clips", "decorate a balcony for a party"),
            ("night light", "sleep light", "socket cover", "help a child who fears the dark"),
            ("ceiling light", "chandelier", "ceiling hook", "light a whole dining room"),
        ),
        _features(
            ("dimmable", "turn it down to a faint glow", "that can be made less bright"),
            ("solar powered", "charges itself by daylight", "where there is no socket", "cable"),
            ("smart", "obeys your phone and your voice", "to switch by voice"),
            ("warm white", "a cosy 2700 kelvin", "that feels cosy"),
            ("motion sensor", "switches on when you walk by", "that turn on by themselves", "switch"),
        ),
        ("brass", "paper", "bamboo", "glass"),
        (12, 300),
        "w",
        (5, 9, 15, 40),
    ),
    Category(
        "pets",
        _types(
            ("dog bed", "dog basket", "washable bed cover", "give an old hound a place to rest"),
            ("cat tree", "scratching post", "catnip spray", "stop a kitten ruining the sofa"),
            ("dog leash", "dog lead", "waste bags", "walk a strong puppy"),
            ("pet carrier", "transport crate", "absorbent pads", "bring a rabbit to the vet"),
            ("pet fountain", "drinking bowl", "charcoal filters", "get a cat to drink more"),
        ),
        _features(
            ("chew proof", "survives sharp teeth", "for a dog that destroys all"),
            ("machine washable", "goes into the washing machine at 60 degrees", "that is easy to clean"),
            ("orthopaedic", "memory foam spares stiff joints", "for an animal with arthritis", "foam"),
            ("reflective", "shines in headlights", "for walks at night"),
            ("silent", "makes no sound at all", "for a nervous animal", "motor"),
        ),
        ("plush", "sisal", "nylon", "steel"),
        (10, 180),
        "kg",
        (5, 10, 25, 40),
    ),
    Category(
        "baby",
        _types(
            ("stroller", "pushchair|pram", "stroller organiser", "take a newborn for a walk"),
            ("baby monitor", "baby phone", "monitor mount", "hear whether the child wakes up"),
            ("high chair", "feeding chair", "bib", "feed a toddler at the table"),
            ("play mat", "crawling rug", "teething ring", "let an infant crawl on the floor"),
            ("baby carrier", "infant sling", "carrier cover", "have both hands free with a baby"),
        ),
        _features(
            ("compact", "collapses with one hand", "that fits in a small car"),
            ("grows along", "can be used from birth to three years", "that lasts for years"),
            ("hypoallergenic", "kind to sensitive skin", "for a child with allergies", "perfume"),
            ("easy to wipe", "spills come off with a cloth", "for messy eaters"),
            ("all-terrain", "rolls over cobbles and forest tracks", "for bumpy paths", "wheels"),
        ),
        ("organic cotton", "beech", "silicone", "linen"),
        (20, 700),
        "kg",
        (2, 6, 9, 15),
    ),
    Category(
        "garden",
        _types(
            ("pruning shears", "secateurs", "blade oil", "cut back the roses"),
            ("garden hose", "water pipe", "hose reel", "water the vegetable beds"),
            ("planter", "flower pot|plant pot", "potting soil", "grow herbs on the windowsill"),
            ("lawn mower", "grass cutter", "grass bag", "keep the grass short"),
            ("garden bench", "outdoor seat", "seat cushion", "sit under the apple tree"),
        ),
        _features(
            ("rust free", "never corrodes", "that can stay outside all year"),
            ("for left-handers", "shaped for the left hand", "for my left-handed mother"),
            ("self-watering", "a reservoir keeps roots moist for weeks", "for people who forget watering"),
            ("cordless", "runs on a battery pack", "where no extension cord reaches", "cable"),
            ("frost resistant", "cold winters do no harm", "for harsh winters", "plastic"),
        ),
        ("teak", "terracotta", "zinc", "rubber"),
        (10, 600),
        "m",
        (1, 5, 15, 30),
    ),
    Category(
        "fitness",
        _types(
            ("yoga mat", "gymnastics mat", "mat strap", "do stretching on the floor"),
            ("dumbbells", "hand weights", "weight rack", "build bigger arms"),
            ("resistance bands", "elastic bands", "door anchor", "train in a hotel room"),
            ("exercise bike", "stationary bicycle", "bike mat", "cycle when it is raining"),
            ("jump rope", "skipping rope", "grip powder", "get fit like a boxer"),
        ),
        _features(
            ("extra thick", "15 mm of padding", "for sore knees"),
            ("odour free", "does not smell of chemicals", "for a sensitive nose", "latex"),
            ("adjustable", "changes in small steps", "for the whole family"),
            ("sweat proof", "keeps its grip when it gets wet", "for very sweaty workouts"),
            ("with app", "counts each repetition on your phone", "that tracks progress", "app"),
        ),
        ("natural rubber", "cork", "cast iron", "neoprene"),
        (8, 500),
        "kg",
        (1, 4, 10, 20),
    ),
    Category(
        "office",
        _types(
            ("notebook", "writing pad|journal", "bookmark ribbon", "write down ideas"),
            ("fountain pen", "ink pen", "ink cartridges", "sign contracts in style"),
            ("keyboard", "typing board", "wrist rest", "type long texts"),
            ("computer mouse", "pointing device", "mouse pad", "move the cursor"),
            ("monitor arm", "screen mount", "cable clips", "raise a screen to eye level"),
        ),
        _features(
            ("refillable", "takes new fillings again and again", "that makes no waste"),
            ("silent keys", "clicks that nobody hears", "for a shared room"),
            ("wireless", "pairs with three devices at once", "for a tidy desk", "cable"),
            ("backlit", "lit from below for work at night", "to use in the dark", "lights"),
            ("ergonomic", "keeps the wrist straight", "for aching wrists"),
        ),
        ("recycled paper", "aluminium", "bamboo", "leather"),
        (5, 250),
        "mm",
        (0.5, 100, 210, 440),
    ),
    Category(
        "bathroom",
        _types(
            ("bath towel", "bath sheet", "towel hook", "dry off after a shower"),
            ("shower curtain", "shower screen", "curtain rings", "keep the floor dry when washing"),
            ("bath mat", "bathroom rug", "anti-slip tape", "step out of the tub"),
            ("laundry basket", "clothes hamper", "laundry bag", "collect dirty shirts"),
            ("soap dispenser", "soap pump", "refill soap", "wash hands without touching much"),
        ),
        _features(
            ("quick drying", "dry again within the hour", "for a room without a window"),
            ("mould resistant", "black spots do not form", "for a damp house"),
            ("antibacterial", "germs do not settle", "for a hospital worker", "chemicals"),
            ("extra large", "bigger than what others sell", "for a tall man"),
            ("touch free", "a sensor does the work", "for flu season", "batteries"),
        ),
        ("cotton", "bamboo", "linen", "microfibre"),
        (6, 120),
        "cm",
        (40, 70, 140, 180),
    ),
    Category(
        "travel",
        _types(
            ("suitcase", "trolley case", "luggage tag", "pack for two weeks abroad"),
            ("travel pillow", "neck cushion", "eye mask", "doze on a plane"),
            ("toiletry bag", "wash bag", "travel bottles", "carry shampoo and a razor"),
            ("power adapter", "socket converter", "cable pouch", "charge a phone in Japan"),
            ("money belt", "hidden pouch", "coin purse", "keep cash safe from thieves"),
        ),
        _features(
            ("cabin size", "fits the overhead locker of all airlines", "to take aboard"),
            ("lockable", "a combination lock holds it shut", "that nobody can open"),
            ("lightweight", "so light that more may go in", "for airlines that weigh bags"),
            ("recycled", "made of old bottles", "that are kind to the planet", "plastic"),
            ("spill proof", "nothing leaks out", "that keeps clothes dry", "zip"),
        ),
        ("polycarbonate", "canvas", "memory foam", "nylon"),
        (9, 350),
        "l",
        (3, 12, 38, 90),
    ),
)
