import os
import sys
import subprocess

import lit.formats

config.name = "polyattn"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(config.polyattn_source, "test")
config.environment["PATH"] = os.pathsep.join(
    [config.polyattn_bin, config.llvm_tools, config.environment.get("PATH", "")]
)
config.substitutions.append(("%specs", os.path.join(config.polyattn_source, "specs")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%examples", os.path.join(config.polyattn_source, "examples")))
config.substitutions.append(("%lib", config.polyattn_lib))
# Tests may not leave kernels in the user's cache, nor find any there.
config.environment["POLYATTN_CACHE_DIR"] = ""

# Whether specs can be compiled to code yet.
probe = [os.path.join(config.polyattn_bin, "polyattn-compile"), "--emit=obj", "-o", os.devnull,
         os.path.join(config.polyattn_source, "specs", "linear.mlir")]
if subprocess.run(probe, capture_output=True).returncode == 0:
    config.available_features.add("cpu-pipeline")
if config.polyattn_sanitize:
    config.available_features.add("sanitizer")
config.substitutions.append(("%docs", os.path.join(config.polyattn_source, "docs")))
config.substitutions.append(("%build", config.polyattn_build))
config.substitutions.append(("%dialects", os.path.join(config.polyattn_build, "dialects")))
