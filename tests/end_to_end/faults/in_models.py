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
        "outputs behind the last cut are not compared",
        "compiler/verification/section_verdict.py",
        "        for original, name in outputs",
        "        for original, name in outputs[1:]",
        Exam.FORGED_SECTIONS,
    ),
)

MODELS = (*_MEANINGS, *_JUDGE)
