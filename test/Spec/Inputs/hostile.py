"""Writes specs that must be refused and runs the tools on them: hostile.py FOLDER.

A tool passes with status 1 and the expected words; a crash or an accepted spec fails."""

import os
import random
import subprocess
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
random.seed()

TENSOR = "tensor<?x?x?x8xf32>"
HEAD = f"""polyattn.attention @a(%q: {TENSOR}, %k: {TENSOR}, %v: {TENSOR}) -> (o: {TENSOR}) {{
  %x = read %q : {TENSOR} -> [8]
  %y = read %k : {TENSOR} -> [8]
  %w = read %v : {TENSOR} -> [8]
"""


def spec(body="", query="%x", extra="", last=""):
    return (f"{HEAD}{body}  %o = attend query {query} key %y value %w causal normalize <none> "
            f"{{grouping = #polyattn.grouping<block>{extra}}} : [8], [8], [8]\n"
            f"  return %o : [8]\n}}\n{last}")


def nested(opening, inner, closing, count):
    return opening * count + inner + closing * count


def wide(width):
    return spec().replace("8xf32", f"{width}xf32").replace("[8]", f"[{width}]")


def power_norm():
    return spec("  %f = power 20 %x {symmetric} : [8]\n"
                "  %g = tensor %f, %f : sym 20 [8], sym 20 [8]\n"
                "  %n = squared_norm %g : sym 20 [8] x sym 20 [8]\n")


def maps(ops, uses):
    body = "".join(f"  %r{i} = tanh %x : [8]\n" for i in range(ops))
    return (f"polyattn.feature_map @m(%x: [8]) {{\n{body}  yield %r0 : [8]\n}}\n" +
            spec("".join(f"  %r{i} = apply @m(%x) : [8] -> [8]\n" for i in range(uses))))


def short(body="", query="q", last="", arguments="q, k, v: seq[8]", head="<d = 8>"):
    return f"polyattn.attention @a{head}({arguments}) {{\n{body}  return attend({query}, k, v) causal normalize none\n}}\n{last}"


def doubling(count):
    """Maps that use the one before twice: 2^count ops of a few lines."""
    return "  map m0(x) = tanh(x)\n" + "".join(f"  map m{i}(x) = m{i - 1}(m{i - 1}(x))\n" for i in range(1, count))


def doubling_numbers(count):
    return "  map m0(x) = x * 1\n" + "".join(
        f"  map m{i}(x) = m{i - 1}(x) + m{i - 1}(x)\n" for i in range(1, count))


deep = random.randint(65, 8000)
# Twins of the cases below in the short form, and what only it has.
SHORT = {
    "brackets of expressions": (short(f"  x = {nested('(', 'q', ')', deep)}\n"), "brackets are nested"),
    "signs": (short(f"  x = {'-' * 100000}q\n"), "deep inside each other"),
    "signs of few": (short(f"  x = {'- ' * 250}q\n"), "deep inside each other"),
    "exponents": (short(f"  x = {'q ** ' * 100000}q\n"), "deep inside each other"),
    "a long sum": (short(f"  x = {'q + ' * 100000}q\n"), "deep inside each other"),
    "selections of selections": (short(f"  x = q{'[0:1]' * 100000}\n"), "deep inside each other"),
    "a chain of maps": (short("  map m0(x) = tanh(x)\n" + "".join(
        f"  map m{i}(x) = m{i - 1}(x)\n" for i in range(1, 50000))), "deep inside each other"),
    "a chain of maps in what is named": (short("  map m0(x) = x * 1\n" + "".join(
        f"  map m{i}(x) = sum(clamp_min(q, value = m{i - 1}(x)))\n" for i in range(1, 50000))), "deep inside each other"),
    "maps that double": (short(doubling(40) + "  x = m39(q)\n"), "at most 30000 ops"),
    "maps that double numbers": (short(doubling_numbers(60) + "  x = q * m59(1)\n"), "have at most 1000000 parts"),
    "maps that double in many entries": ("".join(
        short(doubling(15) + "  x = m14(q)\n").replace("@a<", f"@a{i}<") for i in range(3000)), "at most 30000 ops"),
    "many ops": (short("".join(f"  x{i} = tanh(q)\n" for i in range(30001))), "at most 30000 ops"),
    "many ops of maps": (short("  map m(x) {\n" + "".join(f"    y{i} = tanh(x)\n" for i in range(150)) +
                               "    return x\n  }\n" + "".join(f"  x{i} = m(q)\n" for i in range(250))),
                         "at most 30000 ops"),
    "many operands": (short("".join(f"  x{i} = add({', '.join(['q'] * 200)})\n" for i in range(501))),
                      "at most 100000 operands"),
    "many parts": (short("".join(f"  x{i} = {'1 + ' * 150}1\n" for i in range(5000))), "have at most 1000000 parts"),
    "many elements": (short("".join(f"  x{i} = q[0:60000]\n" for i in range(20)), arguments="q, k, v: seq[60000]"),
                      "selects at most 1048576 elements"),
    "a range without end": (short("  x = q[0:9007199254740992]\n"), "expected elements of 0 to 7"),
    "indices without end": (short("  x = scatter(q, indices = [0:9007199254740992], width = 8)\n"),
                            "selects at most 1048576 elements"),
    "a wide vector": (short(arguments=f"q, k, v: seq[{random.randint(65537, 2**31 - 1)}]"), "at most 65536"),
    "the numbers of many features": (short("  f = sym(q, 20)\n  n = squared_norm(tensor(f, f))\n"), "at most 65536"),
    "a large weight": (short("  read big\n", arguments="q, k, v: seq[8], big: weight[60000, 60000]"), "a weight has at most"),
    "a huge structure": (short("  x0 = q\n" + "".join(f"  x{i} = concat(x{i - 1}, x{i - 1})\n" for i in range(1, 40))),
                         "too many parts"),
    "a size without end": (short(head="<d = 1e300>"), "expected a whole number"),
    "a size below one": (short(head="<d = 0 - 1>"), "expected a size of 1 to"),
    "a number that is none": (short("  x = q * (0 * 2 ** 5000)\n"), "must be finite"),
    "many arguments without a type": (short(arguments=", ".join(f"a{i}" for i in range(200000))), "has no type"),
    "many results": (short().replace(") {", ") -> (" + ", ".join(f"r{i} in q" for i in range(100000)) + ") {", 1),
                     "as many as behind"),
    "an attribute of an attention": (short().replace(") {\n", ") attributes {llvm.emit_c_interface} {\n", 1),
                                     "llvm.emit_c_interface"),
    "a name that is a path": (short().replace("@a", '@"../a"'), "can be part of a C name"),
    "the name of a stage": (short().replace("@a", "@a__prefix"), "can be part of a C name"),
    "a long name": (short(f"  {'x' * 1025} = q\n"), "more than 1024 characters"),
    "no end": (short()[:-3], "expected"),
    "a string for a number": (short('  x = q * "1"\n'), "expected a number, a name"),
    "a token that is none": (short("  x = q $ 2\n"), "unexpected character"),
}
CASES = {
    "brackets of attributes": (spec(extra=", x = " + nested("[", "", "]", deep)), "brackets are nested"),
    "brackets of types": (spec("  %z = relu %x : " + nested("tuple<", "i1", ">", deep)),
                          "brackets are nested"),
    "brackets of structures": (spec("  %z = relu %x : " + nested("(", "[8]", ")", deep)),
                               "brackets are nested"),
    "brackets of structures of few tokens": (spec("  %z = relu %x : " + "sym 1 " * 8000 + "[8]"),
                                             "nested too deeply"),
    "open brackets": ("{" * deep, "brackets are nested"),
    "closing brackets that close nothing": ("[})>" * deep, "brackets are nested"),
    "regions": ('"a"()({' * deep, "brackets are nested"),
    "locations": (spec("  %z = relu %x : [8] loc(" + nested("callsite(", '"a"', ' at "b")', deep)),
                  "no locations"),
    "a location": (spec(last='#l = loc("elsewhere":1:1)\n'), "no aliases"),
    "affine expressions": (spec(extra=", x = affine_map<(d0) -> (" + "-" * 100000 + "d0)>"),
                           "no affine maps"),
    "aliases": ("#a0 = [1]\n" + "".join(f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(64)) +
                spec(extra=", x = #a64"), "no aliases"),
    "an alias of a type": ("!t = tensor<?x?x?x8xf32>\n" + spec(), "no aliases"),
    "resources": (spec(last='{-# dialect_resources: { builtin: { a: "0x08000000" } } #-}\n'),
                  "no resources"),
    "native code": (spec(last="llvm.func @polyattn_rt_run() { llvm.return }\n"),
                    "Dialect `llvm' not found"),
    "native code in generic form": (spec(last='"llvm.func"() ({}) {sym_name = "x"} : () -> ()\n'),
                                    "unregistered dialect"),
    "native code inside": (spec('  llvm.inline_asm "ud2", "" : () -> ()\n'), "llvm"),
    "an unregistered op": ('"foo.bar"() : () -> ()\n' + spec(), "unregistered dialect"),
    "an attribute of the module": ('module attributes {llvm.data_layout = "x"} {\n' + spec() + "}\n",
                                   "no attribute 'llvm.data_layout'"),
    "an attribute of an attention": (spec().replace(") {\n", ") attributes {llvm.emit_c_interface} {\n", 1),
                                     "llvm.emit_c_interface"),
    "a module in a module": ("module { module @b {\n" + spec() + "} }\n", "not 'builtin.module'"),
    "a cast": (spec('  %c = "builtin.unrealized_conversion_cast"(%x) : '
                    "(!polyattn.feature<[8]>) -> !polyattn.feature<[8]>\n", query="%c"),
               "ops of the polyattn dialect only"),
    "bytecode": (b"ML\xefR\x0d\x01", "this is MLIR bytecode"),
    "a zero byte": (spec(last="\0"), "a zero byte"),
    "a wide vector": (wide(random.randint(65537, 2**31 - 1)), "at most 65536"),
    "the numbers of many features": (power_norm(), "at most 65536"),
    "a large weight": (spec("  %m = read %q : tensor<?x?x?x8xf32> -> [8]\n").replace(
        f"%v: {TENSOR}", f"%big: tensor<60000x60000xf32>, %v: {TENSOR}").replace(
            "  %m = read %q : tensor<?x?x?x8xf32> -> [8]\n",
            "  %m = read %big : tensor<60000x60000xf32> -> 60000x60000\n"), "a weight has at most"),
    "many ops": (spec("".join(f"  %r{i} = tanh %x : [8]\n" for i in range(30001))),
                 "at most 30000 ops"),
    "many ops of maps": (maps(200, 200), "at most 30000 ops"),
    "many operands": (spec("".join(
        f"  %r{i} = add {', '.join(['%x'] * 200)} : {', '.join(['[8]'] * 200)}\n"
        for i in range(501))), "at most 100000 operands"),
    "a name with a quote": (spec().replace("@a", '@"a\\22, b"'), "can be part of a C name"),
    "a name that is a path": (spec().replace("@a", '@"../a"'), "can be part of a C name"),
    "a name with a line": (spec().replace("@a", '@"a\\0Ab"'), "can be part of a C name"),
    "no name": (spec().replace("@a", '@""'), "can be part of a C name"),
    "a name with a dot": (spec().replace("@a", "@llvm.memcpy"), "can be part of a C name"),
    "the name of a stage": (spec().replace("@a", "@a__prefix"), "can be part of a C name"),
    "a long name": (spec().replace("@a", "@" + "a" * 1025), "more than 1024 characters"),
    "a long string": (spec(extra=', x = "' + "a" * 1025 + '"'), "more than 1024 characters"),
    "a long text": ("//" + "x" * (4 << 20) + "\n" + spec(), "at most 4194304 bytes"),
}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
    return result.returncode, result.stdout + result.stderr


failures = 0
path = os.path.join(folder, "spec.mlir")
commands = [
    ["polyattn-run", path, "--random", "B=1,T=3,H=2"],
    ["polyattn-compile", path, "--emit", "tile", "-o", "/dev/null"],
    ["polyattn-compile", path, "--target", "sm_90", "--emit", "tile", "-o", "/dev/null"],
]
cases = {"a spec that may pass": (spec(), ""), "a short one that may pass": (short(), "")} | CASES
cases |= {f"short form, {name}": case for name, case in SHORT.items()}
for name, (text, words) in cases.items():
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    for command in commands:
        status, said = run(*command)
        located = not words or ": error: " in said or ":1: error: " in said
        if status != (1 if words else 0) or words not in said or not located:
            failures += 1
            print(f"{name}: {command[0]} ended with {status}: {said[:300]}")
print(f"{len(cases)} specs, {failures} failures")
sys.exit(failures != 0)
