"""Faults of what ONNX means, in ``models`` and ``ir``, and of the judge that cuts networks."""

from tests.end_to_end.faults.fault import Exam, Fault

_MEANINGS = (
    Fault(
        "a normalisation leaves the mean in",
        "models/onnx_import/operators/normalisation.py",
        'result = chain("mul", chain("div", below, root), chain.input(1))',
        'result = chain("mul", chain("div", x, root), chain.input(1))',
        Exam.SECTIONS,
    ),
    Fault(
        "the error function of gelu at the number itself",
        "ir/operators/functions.py",
        "lambda x: x / 2 * (1 + erf(x * math.sqrt(0.5)))",
        "lambda x: x / 2 * (1 + erf(x))",
        Exam.SECTIONS,
    ),
    Fault(
        "floats are quantised downwards",
        "ir/operators/elementary.py",
        "steps = np.rint(values.astype(np.float32) / np.asarray(scale, np.float32))",
        "steps = np.floor(values.astype(np.float32) / np.asarray(scale, np.float32))",
        Exam.SECTIONS,
    ),
)

_JUDGE = (
    Fault(
        "where floats become integers a whole step is let pass",
        "compiler/verification/section_verdict.py",
        "_HALF_STEP = 0.5",
        "_HALF_STEP = 1.5",
        Exam.FORGED_SECTIONS,
    ),
    Fault(
        "the neighbour of a tie is refused",
        "compiler/verification/section_verdict.py",
        "off = (allowed.relative * largest + allowed.absolute) / quant.scale[0]",
        "off = (allowed.relative * largest + allowed.absolute) * 0",
        Exam.FORGED_SECTIONS,
    ),
    Fault(
        "what a jump reads is not compared",
        "compiler/verification/section_verdict.py",
        "return compare(found, floats, cut.original, tolerance=allowed)",
        "return compare(floats, floats, cut.original, tolerance=allowed)",
        Exam.FORGED_SECTIONS,
    ),
    Fault(
        "outputs behind the last cut are not compared",
        "compiler/verification/section_verdict.py",
        "        for original, name in outputs",
        "        for original, name in outputs[1:]",
        Exam.FORGED_SECTIONS,
    ),
)

_FIGURES = (
    Fault(
        "a window begins in the padding",
        "models/onnx_import/arguments.py",
        "if (outputs - 1) * stride >= before + extent[axis]:",
        "if (outputs - 1) * stride > before + extent[axis]:",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "floats may be off a thousand times as far",
        "compiler/verification/verify.py",
        "FLOAT_TOLERANCE = 4e-6",
        "FLOAT_TOLERANCE = 4e-3",
        Exam.FORGED_FLOATS,
    ),
    Fault(
        "utilisation by the peak of one NPU",
        "compiler/report/contents/operators.py",
        "not cycles else load.macs / (cycles * arch.all_macs),",
        "not cycles else load.macs / (cycles * arch.macs),",
        Exam.UTILIZATION,
    ),
)

MODELS = (*_MEANINGS, *_JUDGE, *_FIGURES)
