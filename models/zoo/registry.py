"""The table of networks that can be built: name, builder, published number of parameters."""

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.errors import OptionError
from .alexnet import alexnet
from .builder import NetBuilder, Structure, Value, ZooOptions
from .darknet import darknet19
from .mobilenet import mobilenetv2
from .resnet import resnet18, resnet34, resnet50
from .squeezenet import squeezenet1_0, squeezenet1_1
from .vgg import vgg16
from .yolov2 import yolov2


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A row of the table.

    Attributes:
        name: What users call it.
        add: Adds its layers to a builder and returns the output.
        parameters: Published number of trainable parameters at 224x224 and 1000 classes (of
            ``yolov2``: 80 classes).
        summary: One line for people.
    """

    name: str
    add: Callable[[NetBuilder], Value]
    parameters: int
    summary: str


NETWORKS = (
    Network(name="alexnet", add=alexnet, parameters=61_100_840, summary="AlexNet, one column"),
    Network(
        name="darknet19",
        add=darknet19,
        parameters=20_842_376,
        summary="DarkNet-19, the classifier under YOLOv2",
    ),
    Network(
        name="mobilenetv2",
        add=mobilenetv2,
        parameters=3_504_872,
        summary="MobileNetV2 at width 1.0",
    ),
    Network(name="resnet18", add=resnet18, parameters=11_689_512, summary="ResNet-18"),
    Network(name="resnet34", add=resnet34, parameters=21_797_672, summary="ResNet-34"),
    Network(
        name="resnet50",
        add=resnet50,
        parameters=25_557_032,
        summary="ResNet-50 v1.5, the stride in the 3x3 layer",
    ),
    Network(
        name="squeezenet",
        add=squeezenet1_0,
        parameters=1_248_424,
        summary="SqueezeNet 1.0, the network of the paper",
    ),
    Network(
        name="squeezenet1_1",
        add=squeezenet1_1,
        parameters=1_235_496,
        summary="SqueezeNet 1.1, the cheaper variant of its authors",
    ),
    Network(
        name="vgg16",
        add=vgg16,
        parameters=138_357_544,
        summary="VGG-16, configuration D without normalisation",
    ),
    Network(
        name="yolov2",
        add=yolov2,
        parameters=50_962_889,
        summary="YOLOv2 detector; published at 416x416 for 80 classes",
    ),
)


def names() -> tuple[str, ...]:
    """Return the names of all networks, sorted."""
    return tuple(network.name for network in NETWORKS)


def find(name: str) -> Network:
    """Return the network called ``name``.

    Raises:
        OptionError: There is none; the hint lists those that exist.
    """
    for network in NETWORKS:
        if network.name == name:
            return network
    raise OptionError(f"no network named {name!r}", hint=f"known: {', '.join(names())}")


def structure(name: str, options: ZooOptions) -> Structure:
    """Return the network called ``name`` without weights; cheap for any size."""
    net = NetBuilder(name, options)
    return net.finish(find(name).add(net))
