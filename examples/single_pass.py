"""Run a pass, then a pipeline, on the text of a module; no ONNX, no files.

python examples/single_pass.py
"""

from dataclasses import replace

from accnn.backend.load import load_architecture
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from accnn.passes.manager import run_pipeline
from accnn.passes.registry import pipeline

MODULE = """\
graph net {
  input %x : s8<1x8x6x6, scale = 0.05, zero = -3>
  const %w : s8<16x8x3x3, scale = 0.002, zero = 0>
  %a = conv2d(%x, %w) {pads = [1, 1, 1, 1]} : s8<1x16x6x6, scale = 0.1, zero = 0>
  %unused = max_pool(%a) {kernel = [2, 2]} : s8<1x16x5x5, scale = 0.1, zero = 0>
  return %a
}
"""


def main() -> None:
    module = parse_module(MODULE, source="example")

    smaller = run_pipeline(pipeline("eliminate-dead"), module).module
    print(print_module(smaller))

    machine = replace(smaller, arch=load_architecture("simba.toml"))
    flow = pipeline("schedule-in-order{scratchpad=4096},map-operators,schedule-tiles")
    planned = run_pipeline(flow, machine).module
    for mapping in planned.mappings:
        print(f"%{mapping.operator}: {mapping.mapper}, {mapping.objective:.0f} cycles in the model")
    schedule = planned.tile_schedule
    assert schedule is not None
    print(f"{len(schedule.graph.ops)} tile operations, {schedule.cycles} cycles")


if __name__ == "__main__":
    main()
