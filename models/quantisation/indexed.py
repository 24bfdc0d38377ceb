"""A model as onnxruntime's quantiser edits it, which finds readers and makers of tensors by name.

The quantiser looks through all nodes for each tensor that it changes. Of a network of thousands of
nodes that takes hours.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from onnx import ModelProto, NodeProto, TensorProto


@dataclass(frozen=True, slots=True)
class NamedConstants:
    """The constants of a model, for who looks through them and who looks for one.

    Attributes:
        all: In the order of the model.
        by_name: The first one of each name.
    """

    all: Iterable[TensorProto]
    by_name: Mapping[str, TensorProto]

    def __iter__(self) -> Iterator[TensorProto]:
        return iter(self.all)


@contextmanager
def constants_by_name(*modules: Any) -> Generator[None]:
    """Let the quantiser find constants of an indexed model in its table, not one after another.

    Args:
        modules: Those of the quantiser that call ``find_by_name``.
    """
    plain = modules[0].find_by_name

    def find(name: str, items: Any) -> Any:
        return items.by_name.get(name) if isinstance(items, NamedConstants) else plain(name, items)

    for module in modules:
        module.find_by_name = find
    try:
        yield
    finally:
        for module in modules:
            module.find_by_name = plain


class IndexedModel:
    """In the place of the quantiser's own ``ONNXModel``, which does what is not done here.

    What edits names in nodes must go through this class; of the quantiser's options, a pair of
    nodes for each reader does not.

    Args:
        plain: The quantiser's own.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        self.model: ModelProto = plain.model
        self._readers: dict[str, list[NodeProto]] = {}
        self._makers: dict[str, list[NodeProto]] = {}
        self._initializers: dict[str, TensorProto] = {}
        self._index()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def _index(self) -> None:
        self._readers, self._makers = {}, {}
        for node in self.model.graph.node:
            self._note(node)
        self._initializers = {item.name: item for item in reversed(self.model.graph.initializer)}

    def _note(self, node: NodeProto) -> None:
        for name in filter(None, node.input):
            self._readers.setdefault(name, []).append(node)
        for name in filter(None, node.output):
            self._makers.setdefault(name, []).append(node)

    def input_name_to_nodes(self) -> dict[str, list[NodeProto]]:
        """Return the nodes that read each tensor, once for each time that they do."""
        return self._readers

    def add_node(self, node: NodeProto) -> None:
        """Append a copy of a node."""
        checked = cast(NodeProto, type(self._plain)._check_node(self, node))
        self.model.graph.node.append(checked)
        self._note(self.model.graph.node[-1])

    def add_nodes(self, nodes_to_add: Iterable[NodeProto]) -> None:
        """Append copies of nodes."""
        for node in nodes_to_add:
            self.add_node(node)

    def remove_nodes(self, nodes_to_remove: Collection[NodeProto]) -> None:
        """Remove nodes where there are such."""
        if nodes_to_remove:
            self._plain.remove_nodes(nodes_to_remove)
            self._index()

    def replace_input_of_all_nodes(self, old: str, new: str) -> None:
        """Let all who read a tensor read another one."""
        _rename(self._readers, old, new, self._plain.replace_node_input)

    def replace_input_of_nodes(self, old: str, new: str, node_names_set: Collection[str]) -> None:
        """Let some who read a tensor read another one.

        Args:
            old: Name of the tensor.
            new: Name of the other one.
            node_names_set: Names of the nodes.
        """
        _rename(self._readers, old, new, self._plain.replace_node_input, node_names_set)

    def replace_output_of_all_nodes(self, old: str, new: str) -> None:
        """Let whoever makes a tensor make another one instead."""
        _rename(self._makers, old, new, self._plain.replace_node_output)

    def initializer(self) -> NamedConstants:
        """Return all constants."""
        return NamedConstants(self.model.graph.initializer, self._initializers)

    def get_initializer(self, name: str) -> TensorProto | None:
        """Return a constant, ``None`` where there is none."""
        return self._initializers.get(name)

    def add_initializer(self, tensor: TensorProto) -> None:
        """Append a copy of a constant, unless there is one of its name."""
        if tensor.name not in self._initializers:
            self.initializer_extend([tensor])

    def initializer_extend(self, inits: Iterable[TensorProto]) -> None:
        """Append copies of constants."""
        for tensor in inits:
            self.model.graph.initializer.append(self._plain._check_init(tensor))
            self._initializers.setdefault(tensor.name, self.model.graph.initializer[-1])

    def remove_initializer(self, tensor: TensorProto) -> None:
        """Remove a constant where there is one like it."""
        self._plain.remove_initializer(tensor)
        self._initializers.pop(tensor.name, None)


def _rename(
    table: dict[str, list[NodeProto]],
    old: str,
    new: str,
    rename: Callable[[NodeProto, str, str], None],
    only: Collection[str] | None = None,
) -> None:
    """Let nodes that name a tensor name another one, all of them or those of some names."""
    found = table.pop(old, [])
    changed = [node for node in found if only is None or node.name in only]
    for node in changed:
        rename(node, old, new)
    kept = [node for node in found if node not in changed] if len(changed) < len(found) else []
    for name, nodes in ((old, kept), (new, changed)):
        if nodes:
            table.setdefault(name, []).extend(nodes)
