import os
import sys

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
