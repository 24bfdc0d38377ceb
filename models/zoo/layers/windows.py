"""Layers that slide a window over an image or a clip: convolutions and pools."""

import math

from ....ir.errors import OptionError
from .core import NetCore
from .structure import LayerValue, ParameterRole

Size = int | tuple[int, ...]
"""One number for every spatial axis, or one for each."""


class WindowLayers(NetCore):
    """Convolutions and pools of any rank, ``[N, C, H, W]`` and ``[N, C, T, H, W]``.

    Args:
        x: The operand.
        name: Of the layer, and the beginning of its parameters' names.
        channels: Of the result.
        kernel: Height and width of a window.
        stride: From one window to the next.
        pad: Rows and columns of padding on each side.
        groups: Of channels that do not see each other.
        dilation: From one tap to the next.
        bias: Whether there is one.
        ceil: Whether a last window that is not full counts.
        padded: Whether zeros of the padding count.
        size: Height and width of the result.
    """

    __slots__ = ()

    def conv(
        self,
        x: LayerValue,
        name: str,
        channels: int,
        kernel: Size,
        *,
        stride: Size = 1,
        pad: Size = 0,
        groups: int = 1,
        dilation: int = 1,
        bias: bool = True,
    ) -> LayerValue:
        """Add a convolution ``[N, C, H, W] -> [N, channels, P, Q]`` with He-normal weights."""
        window = self._window(x, name, kernel, stride, pad, dilation)
        weight_shape = (channels, x.shape[1] // groups, *window["kernel_shape"])
        inputs = [x, self._weight(f"{name}.weight", weight_shape, math.prod(weight_shape[1:]))]
        if bias:
            inputs.append(self._bias(f"{name}.bias", channels))
        dilations = tuple(dilation for _ in x.shape[2:])
        return self.op("Conv", name, inputs, dilations=dilations, group=groups, **window)

    def conv_transpose(
        self, x: LayerValue, name: str, channels: int, kernel: Size, *, stride: Size
    ) -> LayerValue:
        """Add a transposed convolution without padding."""
        window = self._window(x, name, kernel, stride, 0)
        sizes, strides = window["kernel_shape"], window["strides"]
        fan_in = x.shape[1] * math.prod(sizes) // math.prod(strides)
        weight = self._weight(f"{name}.weight", (x.shape[1], channels, *sizes), fan_in)
        bias = self._bias(f"{name}.bias", channels)
        return self.op("ConvTranspose", name, (x, weight, bias), **window)

    def max_pool(
        self,
        x: LayerValue,
        name: str,
        kernel: Size,
        stride: Size,
        *,
        pad: Size = 0,
        ceil: bool = False,
    ) -> LayerValue:
        """Add a maximum over windows; ``ceil`` keeps a last window that is not full.

        Do not pad then: ONNX and onnxruntime disagree on whether such a window may lie in the
        padding alone.
        """
        assert not (ceil and pad), f"{name}: padded, and with a ceiling"
        window = self._window(x, name, kernel, stride, pad)
        return self.op("MaxPool", name, [x], ceil_mode=int(ceil), **window)

    def average_pool(
        self,
        x: LayerValue,
        name: str,
        kernel: Size,
        stride: Size,
        *,
        pad: Size = 0,
        padded: bool = False,
    ) -> LayerValue:
        """Add a mean over windows; with ``padded``, zeros of the padding count."""
        window = self._window(x, name, kernel, stride, pad)
        counted = {"count_include_pad": 1} if padded else {}
        return self.op("AveragePool", name, [x], **window, **counted)

    def adaptive_average_pool(self, x: LayerValue, name: str, size: int) -> LayerValue:
        """Add a mean over windows that leaves ``size x size``, where ``size`` divides the input.

        Deviation: torchvision stretches other sizes to ``size x size`` with uneven windows, which
        no ONNX operator does. We leave them, and the layer that follows adapts its weights.
        """
        height = x.shape[2]
        if height == size or height % size:
            return x
        return self.average_pool(x, name, height // size, height // size)

    def global_average_pool(self, x: LayerValue, name: str) -> LayerValue:
        """Add a mean over all positions ``[N, C, H, W] -> [N, C, 1, 1]``."""
        return self.op("GlobalAveragePool", name, [x])

    def _weight(self, name: str, shape: tuple[int, ...], fan_in: int) -> LayerValue:
        return self.parameter(name, shape, ParameterRole.WEIGHT, std=math.sqrt(2.0 / fan_in))

    def _bias(self, name: str, channels: int) -> LayerValue:
        return self.parameter(name, (channels,), ParameterRole.BIAS, std=0.1)

    def _window(
        self, x: LayerValue, layer: str, kernel: Size, stride: Size, pad: Size, dilation: int = 1
    ) -> dict[str, tuple[int, ...]]:
        """Return the attributes of a window that slides over ``x``.

        Raises:
            OptionError: It is larger than what it slides over.
        """
        rank = len(x.shape) - 2
        sizes, strides, pads = (each(size, rank) for size in (kernel, stride, pad))
        extents = zip(x.shape[2:], sizes, pads, strict=True)
        if min(extent + 2 * p - dilation * (k - 1) for extent, k, p in extents) < 1:
            raise OptionError(
                f"{self.name}: an image of {self.options.image_size} pixels is too small: "
                f"{layer} slides a {_by(sizes)} window over {_by(x.shape[2:])}",
                hint="give a larger image size; 224 is the published one",
            )
        return {"kernel_shape": sizes, "strides": strides, "pads": (*pads, *pads)}


def each(size: Size, rank: int) -> tuple[int, ...]:
    """Return a size for each of ``rank`` axes."""
    return (size,) * rank if isinstance(size, int) else size


def _by(sizes: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in sizes)
