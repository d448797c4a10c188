"""Write the page of the lake benchmarks from their result lines, with a plot.

`python -m benchmarks.page docs/reference/benchmarks-lake.jsonl` writes the Markdown file and the SVG file of
the same name. The lines come from `python -m benchmarks.run NAME... > FILE`. Exit code 2: a line is of no
benchmark of this page.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.run import read_question

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark of the page: its heading, its floor, and what its figures mean for a choice."""

    benchmark: str
    title: str
    floor: str
    meaning: str


SECTIONS = (
    Section(
        "operations",
        "Choose the write operation",
        "`bulk_insert`; for `bulk_insert` itself, Spark's Parquet writer",
        "Use `bulk_insert` for a first load and `insert` for rows that are new by construction. Use `upsert` "
        "only if keys may repeat: it looks up every key of the batch.",
    ),
    Section(
        "index_types",
        "Choose the index",
        "`index: {type: simple}`",
        "If changes are recent rows with increasing keys, use `bloom` or the record index, which do not read "
        "all keys; a bucket index hashes such rows into every file. If changes are scattered, rewriting the "
        "files dominates with any index, and `table_type: merge_on_read` saves more.",
    ),
    Section(
        "table_types",
        "Choose the table type",
        "the copy-on-write table",
        "Choose `merge_on_read` for frequent upserts of scattered rows, which write far fewer bytes. "
        "Each snapshot read pays for it until the log files are compacted, and no more afterwards.",
    ),
    Section(
        "snapshot_vs_read_optimized",
        "Choose the query type",
        "the snapshot query",
        "A read-optimized query avoids the merge of log files, and returns the rows as of the last "
        "compaction. Use it if that age is acceptable; otherwise compact more often.",
    ),
    Section(
        "layouts",
        "Choose the layout of a clustering",
        "the table without clustering",
        "Choose `linear` if queries filter by the first column of `sort_by`: the second one gains nothing. "
        "Choose `z-order` or `hilbert` if queries filter by either column.",
    ),
    Section(
        "sql_pruning",
        "Decide about column statistics for SQL without a JVM",
        "the table without `column_stats`; for `sql_pruning_filter`, all files",
        "`headwater sql` skips files of a sorted table with or without `column_stats`: do not set them for "
        "it alone. Set them for queries in Spark: see `skipping_column_stats` in "
        "[benchmarks](benchmarks.md).",
    ),
    Section(
        "concurrency",
        "Choose the concurrency control",
        "one writer that makes the same commits; for attempts, one per commit",
        "If writers change the same files, optimistic concurrency discards about one attempt per commit, and "
        "several writers gain nothing over one. Early detection does not change that. "
        "Let writers change different partitions, or use `concurrency: non_blocking`.",
    ),
)
"""The benchmarks of the page, in its order."""

HEAD = """# Benchmarks of table settings

Generated from [{lines}]({lines}) by `python -m benchmarks.page`; do not edit.
Repeat a measurement with `python -m benchmarks.run NAME`. Each ratio is a figure divided by a floor of the
same run: it describes the setting, while seconds describe the machine. If other processes use the machine,
ratios of seconds vary by a factor of up to two between runs. The goals are limits for regressions.

![Ratio of each figure to its floor, on a logarithmic scale]({plot})
"""

LABEL_WIDTH, PLOT_WIDTH, BAR, GAP = 270, 380, 16, 6
DECADES = (-2, 2)


def main(arguments: Sequence[str]) -> int:
    """Write the page and its plot next to the lines; returns the exit code."""
    source = Path(arguments[0])
    lines = [json.loads(text) for text in source.read_text("utf-8").splitlines() if text.strip()]
    unknown = [line["name"] for line in lines if find_section(line["name"]) is None]
    if unknown:
        print(f"not on this page: {', '.join(unknown)}", file=sys.stderr)
        return 2
    page, plot = source.with_suffix(".md"), source.with_suffix(".svg")
    page.write_text(write_page(lines, source.name), "utf-8")
    plot.write_text(draw(lines), "utf-8")
    print(f"{page}, {plot.name}")
    return 0


def find_section(name: str) -> Section | None:
    """Return the section of a result; None if the page has none."""
    return next((s for s in SECTIONS if name == s.benchmark or name.startswith(f"{s.benchmark}_")), None)


def write_page(lines: Sequence[Line], source: str) -> str:
    """Return the page in Markdown; `source` is the name of the file with the lines."""
    parts = [HEAD.format(lines=source, plot=Path(source).with_suffix(".svg"))]
    for section in SECTIONS:
        own = [line for line in lines if find_section(line["name"]) is section]
        if own:
            parts.append(write_section(section, own))
    return "\n".join(parts)


def write_section(section: Section, lines: Sequence[Line]) -> str:
    """Return heading, meaning, table and notes of one benchmark."""
    rows = [
        f"| `{line['name']}` | {shorten(line['value'])} | {shorten(line['floor'])} | {line['unit']} "
        f"| {line['ratio']:.2f} | {'<=' if line['better'] == 'lower' else '>='} {line['goal']:g} "
        f"| {'yes' if line['ok'] else 'no'} |"
        for line in lines
    ]
    head = [
        "| result | value | floor | unit | ratio | goal | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    notes = [f"- `{line['name']}`: {line['note']}." for line in lines if line.get("note")]
    texts = [
        f"## {section.title}\n",
        f"{read_question(section.benchmark)} Floor: {section.floor}.\n",
        f"{section.meaning}\n",
        *head,
        *rows,
        "",
        *([*notes, ""] if notes else []),
    ]
    return "\n".join(texts)


def shorten(value: float) -> str:
    """Return a figure with three significant digits, or all digits of a large one."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(lines: Sequence[Line]) -> str:
    """Return an SVG with a bar for each ratio, from 1 to the left if lower and to the right if higher."""
    pieces, top = [], 30
    for section in SECTIONS:
        own = [line for line in lines if find_section(line["name"]) is section]
        if not own:
            continue
        pieces.append(f'<text x="0" y="{top + 12}" font-weight="bold">{section.title}</text>')
        top += 22
        for line in own:
            pieces.append(draw_bar(line, section.benchmark, top))
            top += BAR + GAP
        top += 10
    body, width = "\n".join([*draw_axis(top), *pieces]), LABEL_WIDTH + PLOT_WIDTH + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + 10}" '
        'font-family="sans-serif" font-size="12" role="img" aria-label="Ratio of each figure to its floor">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def draw_axis(height: int) -> list[str]:
    """Return a vertical line with a label for each power of ten."""
    pieces = []
    for power in range(DECADES[0], DECADES[1] + 1):
        x, color = place(10.0**power), "#222" if power == 0 else "#ddd"
        pieces.append(f'<path d="M{x:.1f} 20V{height}" stroke="{color}"/>')
        pieces.append(f'<text x="{x:.1f}" y="14" text-anchor="middle">{10.0**power:g}</text>')
    return pieces


def draw_bar(line: Line, benchmark: str, top: int) -> str:
    """Return one bar with its label and ratio; gray if the floor is not beaten in the better direction."""
    ratio = float(line["ratio"])
    left, right = sorted((place(1.0), place(ratio)))
    is_better = ratio < 1 if line["better"] == "lower" else ratio > 1
    label = line["name"].removeprefix(f"{benchmark}_").replace("_", " ")
    middle = top + BAR - 4
    return "\n".join(
        (
            f'<text x="12" y="{middle}">{label}</text>',
            f'<rect x="{left:.1f}" y="{top}" width="{max(right - left, 1.0):.1f}" height="{BAR}" '
            f'fill="{"#2f6fde" if is_better else "#8a94a6"}"/>',
            f'<text x="{right + 6:.1f}" y="{middle}">{ratio:.2f}</text>',
        )
    )


def place(ratio: float) -> float:
    """Return the x coordinate of a ratio; ratios outside of the axis are at its ends."""
    low, high = DECADES
    power = min(max(math.log10(ratio), low), high) if ratio > 0 else low
    return LABEL_WIDTH + (power - low) / (high - low) * PLOT_WIDTH


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
