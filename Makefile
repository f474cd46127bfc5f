# All that is done by hand in this repository. Rust (rustup.rs) must be there;
# what else is missing is installed from Debian by scripts/install-deps.

FUZZ_SECONDS ?= 60
BENCH_FLAGS ?=
TEST_FLAGS ?=
CORPUS_FLAGS ?=
FIXES_FLAGS ?=
CASES ?= --all

.DEFAULT_GOAL := help
.PHONY: help build dist deb demo test differential torture lint corpus fixes cases bench bench-observe bench-stats bench-history bench-repository fuzz fuzz-engine clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

build: ## genba itself, optimised: target/release/genba
	scripts/install-deps build
	cargo build --release --locked --package genba

demo: ## investigate Tokyo Cabinet and SQLite, from a fresh machine to two pages
	scripts/demo

test: ## all tests; lists those that were skipped, with the reason
	scripts/install-deps build test
	scripts/test $(TEST_FLAGS)

dist: ## the stripped binary to hand out: target/dist/genba
	scripts/install-deps build
	cargo build --profile dist --locked --package genba

deb: dist ## a Debian package with man pages and completions, in target/debian
	scripts/install-deps dist
	scripts/make-deb

differential: ## engines count up to 113 programs: every instruction, jump and call as often (5 min)
	scripts/install-deps build test differential
	cargo test --package genba-count --locked --test differential -- --ignored --nocapture

torture: ## programs that try to break the engine of our own, a hundred times each (hours)
	scripts/install-deps build test
	cargo test --package genba-count --locked --test torture -- --ignored --nocapture
	cargo test --package genba --locked --test end_to_end -- --ignored hostile_surroundings

lint: ## formatting, clippy (warnings are errors), licences, ARCHITECTURE.md, lengths of files
	scripts/install-deps build lint
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-licences
	scripts/check-architecture
	scripts/check-lengths

corpus: ## does explain name cause, line and gain? (corpus/README.md; CORPUS_FLAGS=--measure)
	scripts/install-deps build test
	cargo build --release --locked --package genba
	corpus/check $(CORPUS_FLAGS)

fixes: ## does explain find what maintainers found? (fixes/README.md; GENBA_MIRROR, FIXES_FLAGS=--json)
	scripts/install-deps build test
	cargo build --release --locked --package genba
	fixes/run $(FIXES_FLAGS)

cases: ## published investigations, walked again on real software (20 min; CASES="A3 D2")
	scripts/install-deps build cases
	cargo build --release --locked --package genba
	examples/cases/run $(CASES)

bench: ## cost side by side with perf (BENCH_FLAGS=--quick for a first look)
	scripts/install-deps build bench
	scripts/build-demo-programs speedtest1 speedtest1-fp
	cargo build --release --locked --package genba
	cargo test --release --locked --package genba-host --test host_table -- --ignored
	python3 bench/bench.py $(BENCH_FLAGS)
	bench/bench-count $(if $(findstring --quick,$(BENCH_FLAGS)),--quick)
	bench/bench-count --cold $(if $(findstring --quick,$(BENCH_FLAGS)),--quick)
	bench/bench-serve $(if $(findstring --quick,$(BENCH_FLAGS)),--samples 100000)

bench-observe: ## misses and mispredictions in bursts beside callgrind's simulation (30 min)
	scripts/install-deps build test
	cargo build --release --locked --package genba
	bench/bench-observe $(BENCH_FLAGS)

bench-stats: ## false alarms and power of the judge, beside hyperfine's and poop's rules (45 min)
	scripts/install-deps build
	bench/bench-stats $(BENCH_FLAGS)

bench-history: ## false alarms and power of change points, beside Apache Otava's (an hour; needs PyPI)
	scripts/install-deps build
	bench/bench-history $(BENCH_FLAGS)

bench-repository: ## 200 commits with planted changes: are they found, and none invented? (10 min)
	scripts/install-deps build test
	cargo build --release --locked --package genba
	bench/bench-repository

fuzz: ## each fuzz target for FUZZ_SECONDS (60)
	scripts/install-deps build
	scripts/fuzz $(FUZZ_SECONDS)

fuzz-engine: ## random instruction sequences, natively and translated, for FUZZ_SECONDS (60)
	scripts/install-deps build
	cargo run --release --locked --package genba-fuzz-engine -- $(FUZZ_SECONDS)

clean: ## remove what was built
	cargo clean
