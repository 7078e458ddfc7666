"""An op of the polyattn dialect stands in few files of the compiler.

    feature_op_places.py SOURCE

A function like exp stands in its definition and in the file that emits elements; a reduction or
normalization in its definition, in its family's files of the dialect, the oracle and the conversion, and
in the list of emissions.
"""

import glob
import os
import re
import sys

source = sys.argv[1]
definitions = "dialects/PolyAttn/FeatureOps.td"
emission = "lib/Conversion/PolyAttnToTile/"
function_files = {definitions, emission + "ElementEmission.cpp"}
norm_files = {definitions, "dialects/PolyAttn/NormOps.cpp", "lib/Reference/FeatureProgram.cpp",
              emission + "VectorEmission.h", emission + "NormEmission.cpp"}
norms = ["SquaredNormOp", "MaxOp", "L2NormOp", "L2RescaleOp", "SumNormOp", "SoftmaxOp"]

texts = {}
for folder in ["dialects", "lib", "include", "tools", "runtime"]:
    for path in glob.glob(os.path.join(source, folder, "**", "*.*"), recursive=True):
        if path.endswith((".td", ".h", ".cpp", ".c", ".txt")):
            texts[os.path.relpath(path, source)] = open(path).read()


def files_of(op):
    # Other dialects have ops of the same name.
    name = re.compile(r"(?<![:\w])(?:polyattn::|PolyAttn_)?" + op + r"\b")
    return {path for path, text in texts.items() if name.search(text)}


functions = re.findall(r"def PolyAttn_(\w+) : PolyAttn_FunctionOp<", texts[definitions])
problems = []
for expected, ops in [(function_files, functions), (norm_files, norms)]:
    for op in ops:
        found = files_of(op)
        if found != expected:
            problems.append(f"{op} stands in {sorted(found)}, expected {sorted(expected)}")
print(f"{len(functions)} functions in {len(function_files)} files each, "
      f"{len(norms)} norms in {len(norm_files)}")
if problems:
    sys.exit("\n".join(problems))
