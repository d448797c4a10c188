"""Writes the judged catalogue that ships with the package: `python scripts/write_catalogue.py`.

It is the same at each run; a test compares.
"""

import sys
from pathlib import Path

from headwater.rag.evaluation.files import write_judged
from headwater.rag.evaluation.shop.catalogue import generate

FOLDER = Path(__file__).resolve().parent.parent / "src/headwater/rag/evaluation/data"


def main() -> int:
    judged = generate()
    write_judged(judged, FOLDER)
    print(f"{len(judged.products)} products, {len(judged.queries)} queries in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
