"""An op or a normalizer of the polyattn dialect stands in few files of the compiler.

    feature_op_places.py SOURCE

A function like exp stands in its definition and in the file that emits elements; a reduction or
normalization in its definition, in its family's files of the dialect, the oracle and the conversion, and
in the list of emissions. What a normalizer's kind and fields mean is asked where the attribute is
defined, read and written, and in the two formulas.
"""

import glob
import os
import re
import sys

source = sys.argv[1]
function_definitions = "dialects/PolyAttn/ElementwiseOps.td"
emission = "lib/Conversion/PolyAttnToTile/"
function_files = {function_definitions, emission + "ElementEmission.cpp"}
# A pass that writes a function into its result knows that one only.
users = {"ExpOp": {"lib/Transforms/LocalizeTables.cpp"}}
norm_files = {"dialects/PolyAttn/NormOps.td", "dialects/PolyAttn/NormOps.cpp", "lib/Reference/FeatureProgram.cpp",
              emission + "VectorEmission.h", emission + "NormEmission.cpp"}
normalizer_files = {"dialects/PolyAttn/PolyAttnBase.td", "dialects/PolyAttn/NormalizerSyntax.cpp",
                    "lib/Reference/Normalizer.cpp", emission + "Normalizer.cpp"}
# Ops have an eps or a bias of their own: those of a normalizer are read by that name, or as numbers of its attribute.
normalizer = (r"\b(NormalizerKind|EpsMode|Reduce)::|\bget(EpsMode|Reduce|GuardBelow|GuardAdd|MinDenom)\(\)|"
              r"\b[nN]ormalizer(\(\))?\.get(Eps|Bias)\(\)")
norms = ["SquaredNormOp", "MaxOp", "LayerNormOp", "L2NormOp", "L2RescaleOp", "SumNormOp", "SoftmaxOp"]

texts = {}
for folder in ["dialects", "lib", "include", "tools", "runtime"]:
    for path in glob.glob(os.path.join(source, folder, "**", "*.*"), recursive=True):
        if path.endswith((".td", ".h", ".cpp", ".c", ".txt")):
            texts[os.path.relpath(path, source)] = open(path).read()


def files_with(pattern):
    return {path for path, text in texts.items() if re.search(pattern, text)}


def files_of(op):
    # Other dialects have ops of the same name.
    return files_with(r"(?<![:\w])(?:polyattn::|PolyAttn_)?" + op + r"\b")


functions = re.findall(r"def PolyAttn_(\w+) : PolyAttn_FunctionOp<", texts[function_definitions])
problems = []
for expected, ops in [(function_files, functions), (norm_files, norms)]:
    for op in ops:
        found = files_of(op) - users.get(op, set())
        if found != expected:
            problems.append(f"{op} stands in {sorted(found)}, expected {sorted(expected)}")
found = files_with(normalizer)
if found != normalizer_files:
    problems.append(f"normalizers stand in {sorted(found)}, expected {sorted(normalizer_files)}")
print(f"{len(functions)} functions in {len(function_files)} files each, "
      f"{len(norms)} norms in {len(norm_files)}, normalizers in {len(normalizer_files)}")
if problems:
    sys.exit("\n".join(problems))
