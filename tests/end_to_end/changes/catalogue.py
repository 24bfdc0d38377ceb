"""The changes that the table of ``docs/house.md`` promises are small."""

from tests.end_to_end.changes import (
    architecture_key,
    cost_rule,
    graph_pass,
    instruction,
    mapper,
    network_model,
    report_column,
)

CHANGES = (
    instruction.CHANGE,
    mapper.CHANGE,
    graph_pass.CHANGE,
    network_model.CHANGE,
    cost_rule.CHANGE,
    report_column.CHANGE,
    architecture_key.CHANGE,
)
