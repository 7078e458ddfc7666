# The two commands of the README: `make demo` and `make test`. Both install what is missing first.
PRESET ?= release
BUILD := build

.PHONY: build test deps clean

deps:
	@scripts/install-dependencies

$(BUILD)/build.ninja: CMakeLists.txt | deps
	cmake --preset $(PRESET)

build: deps $(BUILD)/build.ninja
	cmake --build $(BUILD)

test: build
	@scripts/run-tests $(BUILD)

clean:
	rm -rf $(BUILD)
