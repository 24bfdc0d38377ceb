"""The table of networks that can be built: name, builder, published parameters, source."""

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.errors import OptionError
from ...ir.suggest import suggest
from .classifiers.alexnet import alexnet
from .classifiers.convnext import convnext_tiny
from .classifiers.darknet import darknet19
from .classifiers.densenet import densenet121
from .classifiers.efficientnet import efficientnet_b0
from .classifiers.inception import inception_v3
from .classifiers.mobilenet import mobilenetv2
from .classifiers.mobilenetv3 import mobilenetv3_large, mobilenetv3_small
from .classifiers.resnet import resnet18, resnet34, resnet50, resnext50
from .classifiers.squeezenet import squeezenet1_0, squeezenet1_1
from .classifiers.vgg import vgg16
from .dense.segmentation import deeplabv3_resnet50, fcn_resnet50, lraspp_mobilenetv3
from .dense.unet import unet
from .dense.yolov2 import yolov2
from .layers.builder import NetBuilder
from .layers.structure import LayerValue, Structure, ZooOptions
from .searched.amoebanet import amoebanet_d
from .searched.darts import darts
from .searched.nasnet import nasnet_a, pnasnet5
from .sequences.bert import bert_base, bert_tiny
from .sequences.gpt2 import gpt2_blocks
from .sequences.llama import llama_block
from .sequences.transformer import transformer
from .sequences.vit import vit_b_16, vit_tiny
from .video import r2plus1d_18, s3d


@dataclass(frozen=True, slots=True)
class ZooNetwork:
    """A row of the table.

    Attributes:
        name: What users call it.
        add: Adds its layers to a builder and returns the output.
        parameters: Number of trainable parameters at the published size.
        summary: One line for people.
        source: Who published the number.
        classes: Published outputs of the classifier.
        image_size: Published height and width of images [pixel].
    """

    name: str
    add: Callable[[NetBuilder], LayerValue]
    parameters: int
    summary: str
    source: str
    classes: int = 1000
    image_size: int = 224


_TORCHVISION = "torchvision"

_TRANSFORMERS = "transformers"
_AUXILIARY = "torchvision, less the auxiliary head"

NETWORKS = (
    ZooNetwork("alexnet", alexnet, 61_100_840, "AlexNet, one column", _TORCHVISION),
    ZooNetwork(
        "amoebanet_d", amoebanet_d, 122_470_120, "AmoebaNet-D (18, 256)", "GPipe's torch port"
    ),
    ZooNetwork("bert_base", bert_base, 109_482_240, "BERT-base", _TRANSFORMERS),
    ZooNetwork("bert_tiny", bert_tiny, 4_385_920, "BERT-tiny", _TRANSFORMERS),
    ZooNetwork("convnext_tiny", convnext_tiny, 28_589_128, "ConvNeXt-T", _TORCHVISION),
    ZooNetwork("darknet19", darknet19, 20_842_376, "DarkNet-19, under YOLOv2", "paper"),
    ZooNetwork("darts", darts, 4_718_752, "DARTS, second order", "paper: 4.7 M"),
    ZooNetwork("deeplabv3", deeplabv3_resnet50, 39_638_869, "DeepLabV3, ResNet-50", _AUXILIARY, 21),
    ZooNetwork("densenet121", densenet121, 7_978_856, "DenseNet-121", _TORCHVISION),
    ZooNetwork("efficientnet_b0", efficientnet_b0, 5_288_548, "EfficientNet-B0", _TORCHVISION),
    ZooNetwork("fcn", fcn_resnet50, 32_957_013, "FCN, ResNet-50", _AUXILIARY, 21),
    ZooNetwork("gpt2_blocks", gpt2_blocks, 85_056_000, "Blocks of GPT-2 (124M)", _TRANSFORMERS),
    ZooNetwork("inception_v3", inception_v3, 23_834_568, "Inception-v3", _AUXILIARY, 1000, 299),
    ZooNetwork("llama_block", llama_block, 44_044_288, "Block of TinyLlama-1.1B", _TRANSFORMERS),
    ZooNetwork("lraspp", lraspp_mobilenetv3, 3_221_538, "LR-ASPP, MobileNetV3", _TORCHVISION, 21),
    ZooNetwork("mobilenetv2", mobilenetv2, 3_504_872, "MobileNetV2 at width 1.0", _TORCHVISION),
    ZooNetwork(
        "mobilenetv3_large", mobilenetv3_large, 5_483_032, "MobileNetV3-Large", _TORCHVISION
    ),
    ZooNetwork(
        "mobilenetv3_small", mobilenetv3_small, 2_542_856, "MobileNetV3-Small", _TORCHVISION
    ),
    ZooNetwork("nasnet_a", nasnet_a, 5_289_978, "NASNet-A (4 @ 1056)", "pretrained-models"),
    ZooNetwork("pnasnet5", pnasnet5, 5_064_487, "PNASNet-5 (N=3, F=54)", "paper: 5.1 M"),
    ZooNetwork("r2plus1d_18", r2plus1d_18, 31_505_325, "R(2+1)D-18", _TORCHVISION, 400, 112),
    ZooNetwork("resnet18", resnet18, 11_689_512, "ResNet-18", _TORCHVISION),
    ZooNetwork("resnet34", resnet34, 21_797_672, "ResNet-34", _TORCHVISION),
    ZooNetwork("resnet50", resnet50, 25_557_032, "ResNet-50 v1.5", _TORCHVISION),
    ZooNetwork("resnext50", resnext50, 25_028_904, "ResNeXt-50 32x4d", _TORCHVISION),
    ZooNetwork("s3d", s3d, 8_320_048, "S3D", _TORCHVISION, 400),
    ZooNetwork("squeezenet", squeezenet1_0, 1_248_424, "SqueezeNet 1.0", _TORCHVISION),
    ZooNetwork("squeezenet1_1", squeezenet1_1, 1_235_496, "SqueezeNet 1.1", _TORCHVISION),
    ZooNetwork("transformer", transformer, 44_140_544, "Transformer, 6 + 6 layers", "torch.nn"),
    ZooNetwork("unet", unet, 31_037_698, "UNet", "milesial/Pytorch-UNet", 2),
    ZooNetwork("vgg16", vgg16, 138_357_544, "VGG-16, without normalisation", _TORCHVISION),
    ZooNetwork("vit_b_16", vit_b_16, 86_567_656, "ViT-B/16", _TORCHVISION),
    ZooNetwork("vit_tiny", vit_tiny, 5_717_416, "ViT-tiny, patches of 16", "timm"),
    ZooNetwork("yolov2", yolov2, 50_962_889, "YOLOv2 detector", "yolov2.weights", 80, 416),
)


def names() -> tuple[str, ...]:
    """Return the names of all networks, sorted."""
    return tuple(network.name for network in NETWORKS)


def find(name: str) -> ZooNetwork:
    """Return the network called ``name``.

    Raises:
        OptionError: There is none; the hint lists those that exist.
    """
    for network in NETWORKS:
        if network.name == name:
            return network
    raise OptionError(f"no network named {name!r}", hint=suggest(name, names()))


def published(network: ZooNetwork) -> Structure:
    """Return a network at its published size, without weights."""
    return structure(
        network.name, ZooOptions(image_size=network.image_size, classes=network.classes)
    )


def structure(name: str, options: ZooOptions) -> Structure:
    """Return the network called ``name`` without weights; cheap for any size."""
    net = NetBuilder(name, options)
    return net.finish(find(name).add(net))
