# The entry points. Each installs what it needs (Debian, Ubuntu; rustup must be there).

.PHONY: help demo test recordings bench bless fmt clean

help:
	@echo "make demo    profile the bundled firmware: what strobe is for"
	@echo "make test    everything that must hold before a change lands"
	@echo "make recordings DIR=...  judge strobe by recordings of real boards, which are not in the repository"
	@echo "make bench   how fast the simulator is, next to QEMU"
	@echo "make bless   accept changed output: snapshots and the samples in README.md"
	@echo "make fmt     format"
	@echo "make clean   remove what was built"

demo:
	@scripts/setup demo
	@scripts/demo

test:
	@scripts/setup test
	@scripts/test

recordings:
	@test -n "$(DIR)" || { echo "make recordings needs DIR=the directory with the recordings; see CONTRIBUTING.md" >&2; exit 64; }
	@scripts/setup test
	cargo xtask recordings "$(DIR)"

bench:
	@scripts/setup test
	cargo xtask bench

bless:
	INSTA_UPDATE=always cargo test --workspace

fmt:
	cargo fmt --all

clean:
	cargo clean
	rm -rf firmware/build
