"""A graph in the making: operators and constants that a pass adds; local to one run."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from ...ir.codec.names import Namer
from ...ir.graph import Attr, Graph, Op, Value
from ...ir.module import Module
from ...ir.ops import make_op
from ...ir.resources import Array, dtype_of
from ...ir.types import DType, Quantization, TensorType


@dataclass
class Growth:
    """Operators so far, in order, and constants that were added.

    Attributes:
        types: Type of every tensor, old and new.
        namer: Gives names that no tensor has.
        ops: Operators so far.
        constants: Constants that were added.
        arrays: Their data.
    """

    types: dict[str, TensorType]
    namer: Namer
    ops: list[Op] = field(default_factory=list[Op])
    constants: list[Value] = field(default_factory=list[Value])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])

    @classmethod
    def of(cls, graph: Graph) -> "Growth":
        """Return a growth without operators that knows the tensors of a graph."""
        return cls(dict(graph.types), Namer(graph.types))

    def add(
        self,
        source: Op,
        kind: str,
        operands: tuple[str, ...],
        *,
        label: str = "",
        like: str = "",
        made: tuple[DType, Quantization] | None = None,
        given: Mapping[str, Attr] | None = None,
        **attrs: Attr,
    ) -> str:
        """Add an operator that comes from another one and return its result.

        Args:
            source: The operator.
            kind: Kind of the new one.
            operands: What it reads.
            label: What its result is called after the source's; its kind by default.
            like: The operand whose element type and quantisation the result has, where the kind
                does not decide them; the first one by default.
            made: Element type and quantisation of the result, where no operand has them.
            given: Attributes, as a mapping.
            attrs: More attributes.
        """
        name = self.namer.fresh(f"{source.name}.{label or kind}")
        dtype, quant = made or (None, None)
        if like:
            dtype, quant = self.types[like].dtype, self.types[like].quant
        op = make_op(
            kind,
            operands,
            self.types,
            name,
            attrs={**(given or {}), **attrs},
            dtype=dtype,
            quant=quant,
            loc=source.loc,
        )
        self.ops.append(op)
        self.types[name] = op.result.type
        return name

    def end(self, source: Op) -> None:
        """Give the last result the name of the operator that it replaces."""
        last = self.ops.pop()
        self.ops.append(replace(last, results=(Value(source.name, last.result.type),)))

    def constant(self, name: str, array: Array, quant: Quantization | None = None) -> str:
        """Add a constant and return it.

        Args:
            name: What it is called, up to a number.
            array: Its data.
            quant: Its quantisation.
        """
        fresh = self.namer.fresh(name)
        self.types[fresh] = TensorType(dtype_of(array.dtype), array.shape, quant)
        self.constants.append(Value(fresh, self.types[fresh]))
        self.arrays[fresh] = array
        return fresh

    @classmethod
    def splitting(
        cls, module: Module, names: Collection[str], split: Callable[["Growth", Op], None]
    ) -> Module:
        """Return a module in which other operators stand for some.

        Args:
            module: Before.
            names: Of the operators that are replaced.
            split: Adds what stands for one; the last operator gets its name (:meth:`end`).
        """
        growth = cls.of(module.graph)
        for op in module.graph.ops:
            if op.name in names:
                split(growth, op)
            else:
                growth.ops.append(op)
        return growth.module(module)

    def module(self, module: Module) -> Module:
        """Return a module with these operators and constants."""
        constants = (*module.graph.constants, *self.constants)
        graph = replace(module.graph, constants=constants, ops=tuple(self.ops))
        return replace(module, graph=graph, constants=module.constants.with_arrays(self.arrays))
