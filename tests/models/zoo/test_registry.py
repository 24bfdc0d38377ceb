"""The table of networks: parameters and multiplications as published."""

import pytest

from accnn.models.published.nasnet import Size
from accnn.models.zoo import names
from accnn.models.zoo.layers.builder import NetBuilder
from accnn.models.zoo.layers.structure import Structure, ZooOptions
from accnn.models.zoo.registry import NETWORKS, find, published, structure
from accnn.models.zoo.searched.amoebanet import amoebanet
from accnn.models.zoo.searched.nasnet import nasnet, pnasnet

# torchvision's documentation of each model ("num_params") where nothing else is said.
PUBLISHED = {
    "alexnet": 61_100_840,
    # AmoebaNet-D (18, 256); see test_other_sizes_of_searched_networks for published ones.
    "amoebanet_d": 122_470_120,
    # transformers' BertModel of google-bert/bert-base-uncased and of google/bert_uncased_L-2_H-128.
    "bert_base": 109_482_240,
    "bert_tiny": 4_385_920,
    "convnext_tiny": 28_589_128,
    # The paper says 4.7 million; the count is that of its network without auxiliary head.
    "darts": 4_718_752,
    # See test_darknet19_adds_up.
    "darknet19": 20_842_376,
    # 42,004,074 and 35,322,218 with the auxiliary head of 2,365,205.
    "deeplabv3": 42_004_074 - (1024 * 256 * 9 + 2 * 256 + 256 * 21 + 21),
    "fcn": 35_322_218 - (1024 * 256 * 9 + 2 * 256 + 256 * 21 + 21),
    "densenet121": 7_978_856,
    "efficientnet_b0": 5_288_548,
    # GPT-2 has 124,439,808, with 50,257 words and 1,024 positions of width 768.
    "gpt2_blocks": 124_439_808 - (50_257 + 1_024) * 768,
    # 27,161,264 with the auxiliary head: 1x1 and 5x5 units and a classifier.
    "inception_v3": 27_161_264 - (768 * 128 + 256 + 128 * 768 * 25 + 1536 + 768 * 1000 + 1000),
    # TinyLlama-1.1B has 1,100,048,384: 22 blocks, two tables of 32,000 words, one normalisation.
    "llama_block": (1_100_048_384 - 2 * 32_000 * 2_048 - 2_048) // 22,
    "lraspp": 3_221_538,
    "mobilenetv2": 3_504_872,
    "mobilenetv3_large": 5_483_032,
    "mobilenetv3_small": 2_542_856,
    # Cadene's pretrained-models, nasnetamobile.
    "nasnet_a": 5_289_978,
    # The paper says 5.1 million.
    "pnasnet5": 5_064_487,
    "r2plus1d_18": 31_505_325,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnext50": 25_028_904,
    "s3d": 8_320_048,
    "squeezenet": 1_248_424,
    "squeezenet1_1": 1_235_496,
    # torch.nn.Transformer() with its defaults.
    "transformer": 44_140_544,
    # milesial/Pytorch-UNet for 3 channels and 2 classes.
    "unet": 31_037_698,
    "vgg16": 138_357_544,
    "vit_b_16": 86_567_656,
    # timm's vit_tiny_patch16_224.
    "vit_tiny": 5_717_416,
    # The file holds 50,983,561 values, of which 20,672 are running statistics.
    "yolov2": 50_983_561 - 20_672,
}
# Multiplications of one inference at the published size [10^9]: torchvision's documentation
# ("GFLOPS" there counts them once); DarkNet-19: half of the 5.58 billion operations of the YOLO9000
# paper; NASNet-A and PNASNet-5: the papers.
PUBLISHED_GMACS = {
    "alexnet": 0.714,
    "convnext_tiny": 4.456,
    "darknet19": 2.79,
    "densenet121": 2.834,
    "efficientnet_b0": 0.386,
    "inception_v3": 5.713,
    "mobilenetv2": 0.301,
    "mobilenetv3_large": 0.217,
    "mobilenetv3_small": 0.057,
    "nasnet_a": 0.564,
    "pnasnet5": 0.588,
    "r2plus1d_18": 40.519,
    "resnet18": 1.814,
    "resnet34": 3.664,
    "resnet50": 4.089,
    "resnext50": 4.23,
    "s3d": 17.979,
    "squeezenet": 0.819,
    "squeezenet1_1": 0.349,
    "vgg16": 15.470,
    "vit_b_16": 17.564,
}


def test_the_table_is_sorted_and_complete():
    assert names() == tuple(sorted(PUBLISHED))


def test_the_table_tells_the_published_parameters():
    assert {n.name: n.parameters for n in NETWORKS} == PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_as_published(name: str):
    assert published(find(name)).parameter_count == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED_GMACS)
def test_multiplications_are_as_published(name: str):
    macs = published(find(name)).macs

    assert macs / 1e9 == pytest.approx(PUBLISHED_GMACS[name], abs=6e-4, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("resnet50", (1, 1000)),
        ("yolov2", (1, 5 * (5 + 80), 13, 13)),
        ("unet", (1, 2, 224, 224)),
        ("deeplabv3", (1, 21, 224, 224)),
        ("s3d", (1, 400)),
        ("bert_base", (1, 768)),
        ("llama_block", (1, 128, 2048)),
    ],
)
def test_outputs_are_as_published(name: str, shape: tuple[int, ...]):
    assert published(find(name)).output.shape == shape


def built(add, size: int = 224) -> Structure:
    net = NetBuilder("net", ZooOptions(image_size=size))
    return net.finish(add(net))


@pytest.mark.parametrize(
    ("add", "parameters"),
    [
        # Cadene's pretrained-models: nasnetalarge and pnasnet5large.
        (lambda net: nasnet(net, Size(stem=96, filters=168, repeats=6)), 88_753_150),
        (
            lambda net: pnasnet(net, Size(stem=96, filters=216, repeats=4, reduce_extra=False)),
            86_057_668,
        ),
        # torchgpipe's benchmarks: 81.5 and 319.0 million.
        (lambda net: amoebanet(net, 208), pytest.approx(81.5e6, abs=5e4)),
        (lambda net: amoebanet(net, 416), pytest.approx(319.0e6, abs=5e4)),
    ],
)
def test_other_sizes_of_searched_networks_are_as_published(add, parameters):
    assert built(add).parameter_count == parameters


def test_darknet19_adds_up():
    widths = [3, 32, 64, 128, 64, 128, 256, 128, 256, 512, 256, 512, 256, 512]
    widths += [1024, 512, 1024, 512, 1024]
    kernels = [3, 3, 3, 1, 3, 3, 1, 3, 3, 1, 3, 1, 3, 3, 1, 3, 1, 3]
    units = zip(widths, widths[1:], kernels, strict=False)

    total = sum(c * k * r * r + 2 * k for c, k, r in units) + 1024 * 1000 + 1000

    assert total == PUBLISHED["darknet19"]


def test_a_sequence_does_not_change_the_parameters():
    short, long = (structure("gpt2_blocks", ZooOptions(sequence=n)) for n in (32, 64))

    assert short.parameter_count == long.parameter_count
    assert short.macs < long.macs / 2
