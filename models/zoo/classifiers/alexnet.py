"""AlexNet, the one-column variant (as torchvision).

References:
    Krizhevsky: One weird trick for parallelizing convolutional neural networks. 2014.
"""

from ..layers.builder import NetBuilder
from ..layers.structure import LayerValue


def alexnet(net: NetBuilder) -> LayerValue:
    """Add AlexNet (61,100,840 parameters)."""
    x = net.conv(net.image(), "conv1", net.channels(64), 11, stride=4, pad=2)
    x = net.max_pool(net.relu(x, "relu1"), "pool1", 3, 2)
    x = net.relu(net.conv(x, "conv2", net.channels(192), 5, pad=2), "relu2")
    x = net.max_pool(x, "pool2", 3, 2)
    for index, width in ((3, 384), (4, 256), (5, 256)):
        x = net.conv(x, f"conv{index}", net.channels(width), 3, pad=1)
        x = net.relu(x, f"relu{index}")
    x = net.max_pool(x, "pool5", 3, 2)
    x = net.flatten(net.adaptive_average_pool(x, "avgpool", 6), "flatten")
    for index in (6, 7):
        x = net.relu(net.linear(x, f"fc{index}", net.channels(4096)), f"relu{index}")
    return net.linear(x, "fc8", net.options.classes)
