# The two commands of the README: `make demo` and `make test`. Both install what is missing first.
PRESET ?= release
BUILD := build

.PHONY: build test bench demo deps clean

deps:
	@scripts/install-dependencies

deps-%:
	@scripts/install-dependencies $*

# Once: ninja reruns cmake by itself, and a preset given again makes cmake drop its cache.
$(BUILD)/build.ninja: | deps
	cmake --preset $(PRESET)

build: deps $(BUILD)/build.ninja
	cmake --build $(BUILD)

test: build
	@scripts/run-tests $(BUILD)

bench: deps-bench $(BUILD)/build.ninja
	cmake $(BUILD) # again: OpenBLAS may be new
	cmake --build $(BUILD)
	@benchmarks/run --build $(BUILD)

demo: deps-demo build
	@scripts/demo $(BUILD)

clean:
	rm -rf $(BUILD)
