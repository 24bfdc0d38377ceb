"""Which operators run on the accelerator (tiers 1 and 2), and which may run on the host (tier 3).

Tier 1 is arithmetic: products, windows, reductions and functions of elements. Tier 2 is everything
around it: comparisons, normalisations, moves, quantised operators.
"""

_TIER_1 = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Attention AveragePool Ceil Celu Clip Conv
    ConvTranspose Cos Cosh Div Elu Erf Exp Floor Gelu Gemm GlobalAveragePool GlobalLpPool
    GlobalMaxPool HardSigmoid HardSwish LeakyRelu Log LpPool MatMul Max MaxPool Mean Min Mish Mod
    Mul Neg PRelu Pow Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Round Selu Shrink Sigmoid Sign
    Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu
"""
_TIER_2 = """
    And ArgMax ArgMin BatchNormalization Cast CastLike Concat Constant ConstantOfShape ConvInteger
    CumSum DepthToSpace DequantizeLinear Dropout DynamicQuantizeLinear Einsum Equal Expand Flatten
    Gather GatherElements GatherND Greater GreaterOrEqual GroupNormalization Hardmax Identity
    InstanceNormalization IsInf IsNaN LRN LayerNormalization Less LessOrEqual LogSoftmax
    LpNormalization MatMulInteger MeanVarianceNormalization Not Or Pad QLinearConv QLinearMatMul
    QuantizeLinear RMSNormalization Range Reshape Resize ScatterElements ScatterND Shape Size Slice
    Softmax SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
"""
_TIER_3 = """
    GRU If LSTM Loop NonMaxSuppression NonZero RNN Scan
"""

_TIER_OF = {
    name: tier
    for tier, names in enumerate((_TIER_1, _TIER_2, _TIER_3), start=1)
    for name in names.split()
}


def tier_of(operator: str, domain: str = "") -> int | None:
    """Return the tier of an operator, nothing for one that is in none."""
    return None if domain else _TIER_OF.get(operator)
