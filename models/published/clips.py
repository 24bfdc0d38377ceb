"""Widths of networks on clips.

References:
    Tran et al.: A Closer Look at Spatiotemporal Convolutions for Action Recognition. CVPR 2018.
    Xie et al.: Rethinking Spatiotemporal Feature Learning. ECCV 2018.
"""

S3D_BRANCHES = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)
"""Channels of the branches 1, 3x3 (inner, outer), 3x3 (inner, outer) and pool of S3D's cells."""


def width_between(C: int, K: int) -> int:
    """Return the channels between a convolution in space and one in time.

    The two have as many parameters as the 3x3x3 convolution that they replace (Tran et al.,
    section 3.5).

    Args:
        C: Input channels of the first.
        K: Output channels of the second.
    """
    return C * K * 27 // (C * 9 + 3 * K)
