# The two commands of the README: `make demo` and `make test`. All commands install what is missing first. Those of
# every change are `make check` and `make lint`; CONTRIBUTING.md has the list.
PRESET ?= release
BUILD := build
FUZZ_BUILD := build-fuzz
SANITIZE_BUILD := build-sanitize
THREADS_BUILD := build-threads
# How long `make fuzz` and `make random` run; an hour before a release.
SECONDS := 60
# Which random programs `make random` begins with.
SEED := 0
# What `make test` and `make ci` run of a build.
TESTS = $(BUILD):unit $(BUILD):lit $(BUILD):python $(BUILD):programs=800 $(BUILD):replay

.PHONY: wheel docs build programs environment programs-and-environment check lint test ci sanitized-runtime test-long bench demo demo-notice deps clean fuzz fuzzer mutants random

deps:
	@scripts/install-dependencies

deps-%:
	@scripts/install-dependencies $*

# Once: ninja reruns cmake by itself, and a preset given again makes cmake drop its cache.
$(BUILD)/build.ninja: | deps
	cmake --preset $(PRESET)

build: deps $(BUILD)/build.ninja
	cmake --build $(BUILD)

check: build
	@scripts/run-tests $(BUILD):unit $(BUILD):quick

# What TableGen writes is included by the sources; nothing else of the build is needed.
lint: deps-lint $(BUILD)/build.ninja
	cmake --build $(BUILD) --target polyattn-generated
	@scripts/lint --build $(BUILD)

# All programs that tests run: also those that the default build leaves out, or left out before MPI was installed.
programs: deps-test $(BUILD)/build.ninja
	cmake $(BUILD)
	cmake --build $(BUILD) --target all static-tools

# What takes the time of a network is fetched while the compiler is compiled.
environment:
	-@scripts/test-python --environment $(BUILD)

programs-and-environment: deps-test deps $(BUILD)/build.ninja
	@$(MAKE) --no-print-directory -j2 programs environment

test: programs-and-environment
	@scripts/run-tests --same-tree $(TESTS)

# What .ci/run runs: what takes seconds of `make lint`, the documentation site, the runtime with sanitizers, and all tests, also those
# on PyTorch.
ci: export TORCH ?= 1
ci: deps-lint deps-docs programs-and-environment sanitized-runtime
	@scripts/run-tests --same-tree $(BUILD):format $(BUILD):docs $(SANITIZE_BUILD):runtime $(THREADS_BUILD):runtime $(TESTS)

$(SANITIZE_BUILD)/build.ninja: | deps
	cmake --preset sanitize

$(THREADS_BUILD)/build.ninja: | deps
	cmake --preset threads

sanitized-runtime: $(SANITIZE_BUILD)/build.ninja $(THREADS_BUILD)/build.ninja
	cmake --build $(SANITIZE_BUILD) --target polyattn-runtime-tests
	cmake --build $(THREADS_BUILD) --target polyattn-runtime-tests

# What does not fit into that: clang-tidy over all sources, tests in a build with assertions, the verifier after every
# pass and sanitizers, and twenty minutes each of random programs in that build and of fuzzing, for which all is compiled
# once more. An hour of random programs in the ordinary build is `make random SECONDS=3600`.
test-long: deps-lint programs fuzzer $(SANITIZE_BUILD)/build.ninja
	cmake --build $(SANITIZE_BUILD)
	@scripts/run-tests --same-tree $(BUILD):lint $(SANITIZE_BUILD):unit $(SANITIZE_BUILD):long $(SANITIZE_BUILD):random=1200 $(FUZZ_BUILD):fuzz=1200

$(FUZZ_BUILD)/build.ninja: | deps
	cmake --preset fuzz

fuzzer: deps $(FUZZ_BUILD)/build.ninja
	cmake --build $(FUZZ_BUILD) --target polyattn-spec-fuzzer

fuzz: fuzzer
	@scripts/fuzz $(FUZZ_BUILD) $(SECONDS)

random: build
	@scripts/random $(BUILD) $(SEED) --seconds $(SECONDS)

# Wheels of the Python package for the Pythons of this machine: $(BUILD)/wheels/*.whl
wheel: deps $(BUILD)/build.ninja
	cmake --build $(BUILD) --target PolyAttnC
	@scripts/wheel $(BUILD) $(BUILD)/wheels

# The documentation site: $(BUILD)/site/index.html. It quotes what the tools say.
docs: deps-docs deps $(BUILD)/build.ninja
	cmake --build $(BUILD) --target polyattn-run polyattn-compile polyattn-opt polyattn-lsp-server
	@scripts/docs $(BUILD)

mutants: build
	@scripts/mutants $(BUILD)

bench: deps-bench $(BUILD)/build.ninja
	cmake $(BUILD) # again: OpenBLAS may be new
	cmake --build $(BUILD)
	@benchmarks/run --build $(BUILD)

demo-notice:
	@scripts/demo --notice $(BUILD)

# The library alone: two thirds of the files. DEMO has options of the demo, such as DEMO="--seconds 20".
demo: demo-notice deps $(BUILD)/build.ninja
	cmake --build $(BUILD) --target PolyAttnC
	@scripts/demo $(BUILD) $(DEMO)

clean:
	rm -rf $(BUILD) $(FUZZ_BUILD) $(SANITIZE_BUILD) $(THREADS_BUILD)
