"""Draws a lineage as a Mermaid flowchart."""

from headwater.app.lineage.graph import Lineage, LineageNode, NodeKind

# Mermaid's brackets: a cylinder for a store, a parallelogram for a source.
_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "source": ("[/", "/]"),
    "events": ("[(", ")]"),
    "table": ("[(", ")]"),
    "quarantine": ("[(", ")]"),
    "chunks": ("[(", ")]"),
    "index": ("{{", "}}"),
}


def draw_mermaid(lineage: Lineage) -> str:
    """Return a flowchart from left to right, for Markdown pages that render Mermaid."""
    numbers = {node.name: f"n{at}" for at, node in enumerate(lineage.nodes)}
    lines = ["flowchart LR"]
    lines += [f"    {numbers[node.name]}{_shape(node)}" for node in lineage.nodes]
    for edge in lineage.edges:
        rules = "; ".join(f"{key}: {value}" for key, value in edge.rules.items())
        label = f"|{_quote(rules)}|" if rules else ""
        lines.append(f"    {numbers[edge.source]} -->{label} {numbers[edge.target]}")
    return "\n".join(lines)


def _shape(node: LineageNode) -> str:
    opening, closing = _SHAPES[node.kind]
    return f"{opening}{_quote(node.name)}{closing}"


def _quote(text: str) -> str:
    """Quote the text. Mermaid's only escape for a quotation mark is its own entity code."""
    return '"' + text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ") + '"'
