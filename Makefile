# The entry points. Each installs what it needs (Debian, Ubuntu; rustup must be there).

.PHONY: help demo test experiments recordings fuzz scheduled bench dist bless fmt clean

# Of `make fuzz`: how long for all properties and for each target, and which seed.
SECONDS ?= 60
SEED ?=

help:
	@echo "make demo        profile the bundled firmware: what strobe is for"
	@echo "make test        everything that must hold before a change lands"
	@echo "make experiments run the experiments of the repository for some seconds each: counts, not times; ONLY=names"
	@echo "make recordings  judge recordings of real boards, which are not in the repository: DIR=..."
	@echo "make fuzz        new inputs for property tests and fuzz targets: SECONDS=60 for each, SEED= to try one again"
	@echo "make scheduled   the long run: fresh seeds, fuzzing, full rebuilds, every feature, advisories"
	@echo "make bench       how fast the simulator is, next to QEMU"
	@echo "make dist        release archives, for Linux and Windows"
	@echo "make bless       accept changed output: snapshots and the samples in README.md"
	@echo "make fmt         format"
	@echo "make clean       remove what was built"

demo:
	@scripts/setup demo
	@scripts/demo

test:
	@scripts/setup test
	@scripts/test

experiments:
	@scripts/setup demo
	@scripts/experiments $(ONLY)

recordings:
	@test -n "$(DIR)" || { echo "make recordings needs DIR=the directory with the recordings; see CONTRIBUTING.md" >&2; exit 64; }
	@scripts/setup test
	@scripts/recordings "$(DIR)"

fuzz:
	@scripts/setup test
	@scripts/fuzz $(SECONDS) $(SEED)

scheduled:
	@scripts/setup scheduled
	@scripts/scheduled

bench:
	@scripts/setup test
	cargo xtask bench

dist:
	@scripts/setup demo
	cargo xtask dist

bless:
	INSTA_UPDATE=always cargo test --workspace

fmt:
	cargo fmt --all

clean:
	cargo clean
	rm -rf firmware/build
