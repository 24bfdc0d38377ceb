"""Turn a residency plan with addresses into a graph schedule."""

from collections.abc import Sequence

from ....ir.graph_schedule import (
    GraphSchedule,
    Residence,
    SolveStatus,
    Stream,
    Transfer,
    Workspace,
)
from ....ir.proof import Scope
from .plan import Plan
from .solve import AddressedPlan


def decode(found: AddressedPlan, scope: Scope | None) -> GraphSchedule:
    """Return the graph schedule of a plan.

    Packing fills the scratchpad from its start; here it is turned round. Tensors then lie at the
    end and workspaces begin at the start, step after step, so that the first tiles of a step can
    come in where those of the step before have been used already.

    Args:
        found: Order, stays, transfers and options, with addresses.
        scope: The plans that its bound holds for; of ``None`` nothing is proven.
    """
    plan, tensors = found.plan, found.plan.problem.tensors
    addresses = _turned_round(plan, found.addresses)
    arrived: set[int] = set()
    loads: list[Transfer] = []
    retrieves: list[Transfer] = []
    streams: list[Stream] = []
    fetched: dict[int, list[int]] = {}
    for tensor, step in plan.fetches:
        fetched.setdefault(step, []).append(tensor)
    for step, option in enumerate(plan.chosen):
        for tensor in fetched.get(step, ()):
            first = tensors[tensor].on_host and tensor not in arrived
            arrived.add(tensor)
            kind = loads if first else retrieves
            kind.append(_transfer(plan, tensor, step))
        for tensor, size in option.streamed:
            arrived.add(tensor)
            streams.append(Stream(tensor=tensors[tensor].name, step=step, bytes=size))
    spills = [_transfer(plan, tensor, step) for tensor, step in plan.spills]
    stores = _stores(plan)
    constants = sum(option.constant_bytes for option in plan.chosen)
    moved = (*loads, *retrieves, *spills, *stores, *streams)
    return GraphSchedule(
        budget=plan.problem.budget,
        order=tuple(plan.problem.operations[op].name for op in plan.order),
        residences=_residences(plan, addresses),
        loads=tuple(loads),
        spills=tuple(spills),
        retrieves=tuple(retrieves),
        stores=tuple(stores),
        streams=tuple(streams),
        workspaces=_workspaces(plan, addresses),
        status=SolveStatus.FEASIBLE if scope is None else found.status,
        objective=sum(item.bytes for item in moved) + constants,
        bound=0 if scope is None else found.bound,
        scope=scope if found.bound else None,
    )


def _turned_round(plan: Plan, addresses: Sequence[int]) -> tuple[int, ...]:
    return tuple(
        plan.problem.budget - address - block.bytes
        for address, block in zip(addresses, plan.blocks, strict=True)
    )


def _residences(plan: Plan, addresses: Sequence[int]) -> tuple[Residence, ...]:
    tensors = plan.problem.tensors
    return tuple(
        Residence(
            tensor=tensors[stay.tensor].name,
            first_step=stay.first,
            last_step=stay.last,
            address=addresses[place],
            bytes=tensors[stay.tensor].bytes,
        )
        for stay, place in zip(plan.stays, plan.places, strict=True)
    )


def _workspaces(plan: Plan, addresses: Sequence[int]) -> tuple[Workspace, ...]:
    first = len(addresses) - len(plan.workspaces)
    return tuple(
        Workspace(step=step, address=address, bytes=size)
        for (step, size), address in zip(plan.workspaces, addresses[first:], strict=True)
    )


def _stores(plan: Plan) -> list[Transfer]:
    stores: list[Transfer] = []
    for step, (op, option) in enumerate(zip(plan.order, plan.chosen, strict=True)):
        streamed = {tensor for tensor, _ in option.streamed}
        for tensor in plan.problem.operations[op].writes:
            if plan.problem.tensors[tensor].is_output and tensor not in streamed:
                stores.append(_transfer(plan, tensor, step))
    return stores


def _transfer(plan: Plan, tensor: int, step: int) -> Transfer:
    item = plan.problem.tensors[tensor]
    return Transfer(tensor=item.name, step=step, bytes=item.bytes)
