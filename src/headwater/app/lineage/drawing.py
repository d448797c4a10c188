"""A lineage as a tree of text, and in the words of Mermaid."""

from collections.abc import Iterator

from headwater.app.lineage.graph import Lineage, LineageEdge, LineageNode, NodeKind

# Mermaid's brackets: a store is a drum, a source a slanted box.
_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "source": ("[/", "/]"),
    "events": ("[(", ")]"),
    "table": ("[(", ")]"),
    "quarantine": ("[(", ")]"),
    "chunks": ("[(", ")]"),
    "index": ("{{", "}}"),
}


def draw_text(lineage: Lineage) -> str:
    """A line a node, indented below what it is made from, with the rules of the way there."""
    targets = {edge.target for edge in lineage.edges}
    roots = [node.name for node in lineage.nodes if node.name not in targets]
    return "\n".join(line for root in roots for line in _iter_tree(lineage, root, "", ""))


def draw_mermaid(lineage: Lineage) -> str:
    """A flowchart from left to right, for Markdown pages that draw Mermaid."""
    numbers = {node.name: f"n{at}" for at, node in enumerate(lineage.nodes)}
    lines = ["flowchart LR"]
    lines += [f"    {numbers[node.name]}{_shape(node)}" for node in lineage.nodes]
    for edge in lineage.edges:
        label = f"|{_quote(_describe(edge))}|" if edge.rules else ""
        lines.append(f"    {numbers[edge.source]} -->{label} {numbers[edge.target]}")
    return "\n".join(lines)


def _iter_tree(lineage: Lineage, name: str, rules: str, indent: str) -> Iterator[str]:
    yield f"{indent}{name}{rules}"
    for edge in lineage.list_from(name):
        rules = f"  ({_describe(edge)})" if edge.rules else ""
        yield from _iter_tree(lineage, edge.target, rules, f"{indent}  ")


def _describe(edge: LineageEdge) -> str:
    return "; ".join(f"{key}: {value}" for key, value in edge.rules.items())


def _shape(node: LineageNode) -> str:
    opening, closing = _SHAPES[node.kind]
    return f"{opening}{_quote(node.name)}{closing}"


def _quote(text: str) -> str:
    """Mermaid has no escape but its own number for a quotation mark."""
    return '"' + text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ") + '"'
