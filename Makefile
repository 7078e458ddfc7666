# The two commands of the README: `make demo` and `make test`. Both install what is missing first.
PRESET ?= release
BUILD := build

.PHONY: build test bench demo deps clean

deps:
	@scripts/install-dependencies

$(BUILD)/build.ninja: CMakeLists.txt | deps
	cmake --preset $(PRESET)

build: deps $(BUILD)/build.ninja
	cmake --build $(BUILD)

test: build
	@scripts/run-tests $(BUILD)

# OpenBLAS must be there when cmake looks for it.
bench:
	@scripts/install-dependencies bench
	cmake --preset $(PRESET)
	cmake --build $(BUILD)
	@benchmarks/run --build $(BUILD)

clean:
	rm -rf $(BUILD)
