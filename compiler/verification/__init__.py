"""The verdict on a program and on its simulated run.

- ``verify``: outputs compared with those of onnxruntime, element by element;
- ``verdict``: the judgement of a run, and the operator where a difference begins;
- ``carried``: how far rounding alone carries outputs, where these differ;
- ``section_verdict``: section by section, where rounding makes one run of the whole no reference;
- ``translation``: the program held against the tile schedule that it was made from;
- ``observe``: programs that bring every intermediate tensor off chip, to be compared.
"""
