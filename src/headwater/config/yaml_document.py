"""Parses YAML into plain data with the line of each key. Never builds objects."""

from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headwater.config.problems.problem import Data, KeyPath, Problem

_TAG = "tag:yaml.org,2002:"
_MERGE_KEY = "<<"
# Everything else stays text: Spark or Hudi interpret dates, not headwater.
_TYPED_SCALARS = frozenset({f"{_TAG}bool", f"{_TAG}int", f"{_TAG}float", f"{_TAG}null"})
_TEXT_SCALARS = frozenset({f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}merge", f"{_TAG}value"})


def _parser() -> YAML:
    return YAML(typ="safe", pure=True)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """`data` is the readable part; `problems` are those of the text itself."""

    data: Data
    problems: tuple[Problem, ...] = ()
    root: MappingNode | None = field(default=None, repr=False)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line (1-based) of the key at the path, or of its nearest parent; None without any."""
        node: Node | None = self.root
        line = None
        for part in path:
            found = _find_child(node, part)
            if found is None:
                break
            mark, node = found
            line = mark
        return line


def parse_yaml(text: str) -> YamlDocument:
    """Read one YAML document; never raises. Duplicate keys and custom tags are problems."""
    try:
        root = _parser().compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark is not None else None
        return YamlDocument({}, (Problem((), f"not valid YAML: {reason or 'cannot be read'}", line),))
    except YAMLError as error:
        return YamlDocument({}, (Problem((), f"not valid YAML: {' '.join(str(error).split())}"),))
    if root is None:
        return YamlDocument({})
    if not isinstance(root, MappingNode):
        text = "must be a mapping with keys such as `source:`, `lake:`, `tables:`"
        return YamlDocument({}, (Problem((), text, root.start_mark.line + 1),))
    reading = _Reading()
    data = reading.mapping(root, ())
    return YamlDocument(data, tuple(reading.problems), root)


def parse_scalar(text: str) -> object:
    """Parse a plain YAML scalar: `5` is a number, `true` a bool, nothing null, everything else text."""
    parser = _parser()
    tag = str(parser.resolver.resolve(ScalarNode, text, (True, False)))
    if tag not in _TYPED_SCALARS:
        return text
    value: object = parser.constructor.construct_object(ScalarNode(tag, text))
    return value


def _find_child(node: Node | None, part: str | int) -> tuple[int, Node] | None:
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        item: Node = node.value[part]
        return item.start_mark.line + 1, item
    if not isinstance(node, MappingNode):
        return None
    for key, value in node.value:
        if key.value == part:
            return key.start_mark.line + 1, value
    for key, value in node.value:
        if key.value == _MERGE_KEY:
            for merged in value.value if isinstance(value, SequenceNode) else (value,):
                found = _find_child(merged, part)
                if found is not None:
                    return found
    return None


class _Reading:
    """One pass over the nodes that collects data and problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._done: dict[int, object] = {}

    def mapping(self, node: MappingNode, path: KeyPath) -> Data:
        own: Data = {}
        merged: Data = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.problems.append(Problem(path, "a key must be plain text", line))
                continue
            key = str(key_node.value)
            if key == _MERGE_KEY and not key_node.style:
                self._merge(merged, value_node, path, line)
                continue
            if key in lines:
                text = f"duplicate key {key!r} (first in line {lines[key]})"
                self.problems.append(Problem((*path, key), text, line))
                continue
            lines[key] = line
            own[key] = self.value(value_node, (*path, key))
        return {**merged, **own}

    def value(self, node: Node, path: KeyPath) -> object:
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        # Aliases share nodes: each is read once, so that no text can expand beyond its size.
        if id(node) in self._done:
            return self._done[id(node)]
        if id(node) in self._open:
            self.problems.append(Problem(path, "an alias (`*name`) refers to a node that contains it"))
            return None
        self._open.add(id(node))
        self._check_tag(node, path)
        if isinstance(node, MappingNode):
            result: object = self.mapping(node, path)
        else:
            result = [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        self._open.discard(id(node))
        self._done[id(node)] = result
        return result

    def _merge(self, into: Data, node: Node, path: KeyPath, line: int) -> None:
        for part in node.value if isinstance(node, SequenceNode) else (node,):
            value = self.value(part, path)
            if not isinstance(value, dict):
                self.problems.append(Problem(path, "`<<` requires a mapping or a list of mappings", line))
                continue
            for key, item in value.items():
                into.setdefault(key, item)

    def _scalar(self, node: ScalarNode, path: KeyPath) -> object:
        tag = str(node.tag)
        if tag in _TYPED_SCALARS:
            try:
                value: object = _parser().constructor.construct_object(node)
            except (YAMLError, ValueError, KeyError):
                self.problems.append(Problem(path, f"{node.value!r} is not a {tag.removeprefix(_TAG)}"))
                return None
            return value
        self._check_tag(node, path)
        return str(node.value)

    def _check_tag(self, node: Node, path: KeyPath) -> None:
        tag = str(node.tag)
        if tag not in _TEXT_SCALARS and tag not in (f"{_TAG}map", f"{_TAG}seq"):
            short = tag.replace(_TAG, "!!")
            line = node.start_mark.line + 1
            self.problems.append(
                Problem(path, f"the tag `{short}` is not allowed; write a plain value", line)
            )
