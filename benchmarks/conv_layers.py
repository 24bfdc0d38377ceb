"""Convolutions of the networks in Flexer's evaluation, as tables; batch 1, int8.

Sizes are those of the published networks at 224x224 (YOLOv2: 416x416); a fully connected layer is
a 1x1 convolution of one position.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from accnn.passes.scheduling.flexer.layer import ConvLayer


@dataclass(frozen=True, slots=True)
class Row:
    """A layer and how often it occurs in its network."""

    layer: ConvLayer
    count: int = 1


def _row(
    name: str,
    size: int,
    C: int,
    K: int,
    kernel: int,
    stride: int = 1,
    count: int = 1,
    pad: int = -1,
) -> Row:
    edge = kernel // 2 if pad < 0 else pad
    layer = ConvLayer(
        name=name,
        height=size,
        width=size,
        C=C,
        K=K,
        R=kernel,
        S=kernel,
        stride=(stride, stride),
        pads=(edge, edge, edge, edge),
    )
    return Row(layer, count)


def vgg16() -> Iterator[Row]:
    """Simonyan, Zisserman 2014, configuration D."""
    channels, size = 3, 224
    for stage, (width, depth) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
        for number in range(1, depth + 1):
            yield _row(f"conv{stage}_{number}", size, channels, width, 3)
            channels = width
        size //= 2
    for number, (inputs, outputs) in enumerate(((25088, 4096), (4096, 4096), (4096, 1000)), 6):
        yield _row(f"fc{number}", 1, inputs, outputs, 1)


def resnet50() -> Iterator[Row]:
    """He et al. 2015, the stride in the 3x3 layer."""
    yield _row("conv1", 224, 3, 64, 7, 2)
    channels, size = 64, 56
    for stage, (width, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 2):
        stride, outer = (1 if stage == 2 else 2), 4 * width
        yield _row(f"conv{stage}_1_1", size, channels, width, 1)
        yield _row(f"conv{stage}_1_2", size, width, width, 3, stride)
        yield _row(f"conv{stage}_1_0", size, channels, outer, 1, stride)
        size //= stride
        yield _row(f"conv{stage}_x_3", size, width, outer, 1, count=depth)
        yield _row(f"conv{stage}_x_1", size, outer, width, 1, count=depth - 1)
        yield _row(f"conv{stage}_x_2", size, width, width, 3, count=depth - 1)
        channels = outer
    yield _row("fc", 1, 2048, 1000, 1)


def squeezenet() -> Iterator[Row]:
    """Iandola et al. 2016, version 1.0."""
    yield _row("conv1", 224, 3, 96, 7, 2, pad=0)
    channels, size = 96, 54
    fires = (16, 16, 32, 32, 48, 48, 64, 64)
    for number, squeeze in enumerate(fires, 2):
        yield _row(f"fire{number}_s1", size, channels, squeeze, 1)
        yield _row(f"fire{number}_e1", size, squeeze, 4 * squeeze, 1)
        yield _row(f"fire{number}_e3", size, squeeze, 4 * squeeze, 3)
        channels = 8 * squeeze
        size = {4: 27, 8: 13}.get(number, size)
    yield _row("conv10", size, channels, 1000, 1)


def yolov2() -> Iterator[Row]:
    """Redmon, Farhadi 2017, COCO, 416x416."""
    channels, size, number = 3, 416, 1
    stages = ((32,), (64,), (128, 64, 128), (256, 128, 256), (512, 256, 512, 256, 512))
    for widths in (*stages, (1024, 512, 1024, 512, 1024, 1024, 1024)):
        for position, width in enumerate(widths):
            kernel = 3 if position % 2 == 0 or position > 4 else 1
            yield _row(f"conv{number}", size, channels, width, kernel)
            channels, number = width, number + 1
        if len(widths) < 7:
            size //= 2
    yield _row("conv21", 26, 512, 64, 1)
    yield _row("conv22", 13, 1280, 1024, 3)
    yield _row("conv23", 13, 1024, 425, 1)


TABLES = {"vgg16": vgg16, "resnet50": resnet50, "squeezenet": squeezenet, "yolov2": yolov2}
"""Networks by name."""


def distinct(rows: Iterator[Row]) -> tuple[Row, ...]:
    """Return the rows with equal layers joined under the first one's name, counts added."""
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        layer = row.layer
        key = (layer.height, layer.C, layer.K, layer.R, layer.stride, layer.pads)
        first = found.get(key, Row(layer, 0))
        found[key] = Row(first.layer, first.count + row.count)
    return tuple(found.values())
