import os
import platform
import shutil
import subprocess
import sys

import lit.formats

config.name = "polyattn"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
# Folders of tests that compile or run many kernels, and tests elsewhere that say `REQUIRES: slow`, which takes more than
# some ten seconds: `lit -D quick`, which is `make check`, leaves them to `make test`.
if "quick" in lit_config.params:
    config.excludes += ["Benchmarks", "Docs", "Examples", "Integration", "Mutation", "PTX", "Random"]
else:
    config.available_features.add("slow")
# Tests that say `REQUIRES: long` take minutes, and others are nearly the same: `lit -D long`, which is `make test-long`.
if "long" in lit_config.params:
    config.available_features.add("long")
config.test_source_root = os.path.join(config.polyattn_source, "test")
config.environment["PATH"] = os.pathsep.join(
    [config.polyattn_bin, config.llvm_tools, config.environment.get("PATH", "")]
)
kernels = os.path.join(config.test_source_root, "Integration", "Kernels", "Inputs")
config.substitutions.append(("%check_entries",
                             f"{sys.executable} {os.path.join(kernels, 'check_entries.py')}"))
config.substitutions.append(("%specs", os.path.join(config.polyattn_source, "specs")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%examples", os.path.join(config.polyattn_source, "examples")))
config.substitutions.append(("%include", os.path.join(config.polyattn_source, "include")))
config.substitutions.append(("%runtime", os.path.join(config.polyattn_source, "runtime")))
config.substitutions.append(("%scripts", os.path.join(config.polyattn_source, "scripts")))
config.substitutions.append(("%llvm_library",
                             os.path.join(config.llvm_tools, "..", "lib", "libLLVM.so")))
config.substitutions.append(("%lib", config.polyattn_lib))
# Tests may not leave kernels in the user's cache, nor find any there. One run of lit has a cache of its own, empty at first:
# many tests run one kernel on other sizes, which is compiled once.
cache = os.path.join(config.test_exec_root, "kernels")
shutil.rmtree(cache, ignore_errors=True)
config.environment["POLYATTN_CACHE_DIR"] = cache

# What a program that is linked with libpolyattn needs where that is instrumented.
sanitize = ""
if config.polyattn_sanitize:
    config.available_features.add("sanitizer")
    defaults = os.path.join(config.polyattn_source, "cmake", "SanitizerDefaults.c")
    sanitize = f"-fsanitize={config.polyattn_sanitize} {defaults}"
config.substitutions.append(("%sanitize", sanitize))
# What this machine can run, beside its own code.
if platform.machine() == "x86_64":
    config.available_features.add("x86-64")
    with open("/proc/cpuinfo") as processors:
        if "avx2" in processors.read():
            config.available_features.add("x86-64-v3")

# A compiler with an OpenMP runtime; sanitizers want programs by their own compiler.
if not sanitize and subprocess.run(
        ["sh", "-c", "echo 'int main(void) { return 0; }' | gcc -fopenmp -x c - -o /dev/null"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("openmp")

# A C compiler for AArch64, and what executes its programs.
if all(map(shutil.which, ("aarch64-linux-gnu-gcc", "qemu-aarch64"))):
    config.available_features.add("aarch64-emulation")

# What scripts/install-dependencies has for `make lint`.
if all(map(shutil.which, ("clang-format-22", "clang-tidy-22", "git"))):
    config.available_features.add("lint")

# The example of several processes is built where there is an MPI (`make deps-test`). Processes of root, and more of them than
# processors, are what a test wants. Open MPI leaves memory behind when it ends, which LeakSanitizer would report.
if shutil.which("mpirun") and os.path.exists(os.path.join(config.polyattn_bin, "polyattn-example-mpi")):
    config.available_features.add("mpi")
config.substitutions.append(("%mpirun", "env ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
                             "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -n"))

# Built by a target of their own, which `make test` asks for.
if os.path.exists(os.path.join(config.polyattn_build, "static", "polyattn-run")):
    config.available_features.add("static-tools")

config.substitutions.append(("%docs", os.path.join(config.polyattn_source, "docs")))
config.substitutions.append(("%build", config.polyattn_build))
config.substitutions.append(("%dialects", os.path.join(config.polyattn_build, "dialects")))
