"""How many layers the stages of plainly built networks have.

References:
    He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition. CVPR 2016, table 1.
    Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks. CVPR 2017,
    table 1.
"""

RESNET50 = (3, 4, 6, 3)
"""Blocks of each stage of ResNet-50."""

DENSENET121 = (6, 12, 24, 16)
"""Layers of each block of DenseNet-121."""

DENSENET_GROWTH = 32
"""Channels that a layer of DenseNet-121 adds."""
