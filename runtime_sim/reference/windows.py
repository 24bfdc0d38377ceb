"""Sliding windows over images as strided views."""

import numpy as np

from ...ir.operators.elementary import Array
from ...ir.operators.views import SlidingWindow


def pad_image(image: Array, window: SlidingWindow, value: float) -> Array:
    """Return ``[N, C, H, W]`` with the padding and overhang of a window, filled with a value.

    Args:
        image: ``[N, C, H, W]``.
        window: Its padding.
        value: What padding is filled with.
    """
    top, left, bottom, right = window.pads
    rows, columns = (bottom + window.overhang[0], right + window.overhang[1])
    if not any((top, left, rows, columns)):
        return image
    N, C, H, W = image.shape
    shape = (N, C, top + H + rows, left + W + columns)
    padded = np.full(shape, value, image.dtype)
    padded[:, :, top : top + H, left : left + W] = image
    return padded


def windows(padded: Array, window: SlidingWindow) -> Array:
    """Return a read-only view ``[N, C, R, S, P, Q]`` of a padded image: what each tap sees."""
    (R, S), (dr, ds) = window.kernel, window.dilation
    N, C, H, W = padded.shape
    reach_rows, reach_columns = window.reach()
    P = (H - reach_rows) // window.stride[0] + 1
    Q = (W - reach_columns) // window.stride[1] + 1
    n, c, h, w = padded.strides
    return np.lib.stride_tricks.as_strided(
        padded,
        (N, C, R, S, P, Q),
        (n, c, h * dr, w * ds, h * window.stride[0], w * window.stride[1]),
        writeable=False,
    )


def taps(padded: Array, window: SlidingWindow) -> Array:
    """Return a view ``[R * S, N, C, P, Q]`` (a copy where needed), taps row by row."""
    seen = windows(padded, window)
    N, C, R, S, P, Q = seen.shape
    return seen.transpose(2, 3, 0, 1, 4, 5).reshape(R * S, N, C, P, Q)
