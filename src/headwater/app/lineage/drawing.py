"""A lineage as a flowchart of Mermaid."""

from headwater.app.lineage.graph import Lineage, LineageNode, NodeKind

# Mermaid's brackets: a store is a drum, a source a slanted box.
_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "source": ("[/", "/]"),
    "events": ("[(", ")]"),
    "table": ("[(", ")]"),
    "quarantine": ("[(", ")]"),
    "chunks": ("[(", ")]"),
    "index": ("{{", "}}"),
}


def draw_mermaid(lineage: Lineage) -> str:
    """A flowchart from left to right, for Markdown pages that draw Mermaid."""
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
    """Mermaid has no escape but its own number for a quotation mark."""
    return '"' + text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ") + '"'
