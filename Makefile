# Two commands do everything on a fresh machine: `make run` and `make test`.
# Both install what is missing (as root on Debian and its derivatives; elsewhere they say which packages are needed).

CARGO ?= cargo
TARGET ?= $(or $(CARGO_TARGET_DIR),target)
BAKEOFF = $(TARGET)/release/bakeoff
OUT ?= bakeoff-report

.PHONY: reference run test test-all mpi mpi-test bench-ranks long fuzz torture lint build packages guest-packages openzfs bcachefs test-packages recipes bench simulate slices replay-error answer powercut faults gallery judge-real dist clean-root image crates rustdoc install clean

run: packages build
	$(BAKEOFF) run --report $(OUT)

build:
	$(CARGO) build --release --locked -p bakeoff

packages:
	@scripts/packages run

test-packages:
	@scripts/packages run guests layers test recipes

# The programs that workloads run: git, SQLite, PostgreSQL and others.
recipes:
	@scripts/packages run recipes

# What virtual machines need, and the tools of the filesystems that run in them.
guest-packages:
	@scripts/packages guests layers

# OpenZFS for guests: its module built, its tools unpacked, from Debian's contrib; nothing is installed but what building needs.
# 2.1 for debian:6.1 and 2.4 for debian:6.12; KERNELS=debian:6.12 makes one of them.
openzfs: build guest-packages
	@scripts/packages openzfs
	@for kernel in $(or $(KERNELS),debian:6.1 debian:6.12); do scripts/openzfs $(BAKEOFF) $$kernel || exit 1; done

# bcachefs for guests: its tools unpacked, from Debian's experimental, with libraries of their own; nothing is installed.
bcachefs: build guest-packages
	@scripts/bcachefs $(BAKEOFF)

# TIER: quick (what ends within minutes), rest (emulated machines, power cuts, disk faults, simulations), or nothing for both at once.
TIER ?= quick
test: test-packages
	@CARGO=$(CARGO) BAKEOFF_TIER=$(TIER) scripts/test

test-all:
	@$(MAKE) test TIER=

# Many clients: the program that speaks MPI, beside bakeoff. docs/many.md says how it is used.
mpi: packages build
	@scripts/packages mpi
	$(CARGO) build --release --locked -p bakeoff-ranks --features mpi
	@echo "built: $(TARGET)/release/bakeoff-ranks; mpirun -np 2 $(BAKEOFF) ranks mdtest-easy --dir DIR"

mpi-test:
	@scripts/packages run mpi
	$(CARGO) build --locked -p bakeoff
	$(CARGO) clippy -p bakeoff-ranks --all-targets --features mpi --locked -- -D warnings
	$(CARGO) test --locked -p bakeoff-ranks --features mpi

# What takes minutes, for before a release: a million files, and fifty runs ended at random moments.
long: test-packages
	$(CARGO) build --locked -p bakeoff
	BAKEOFF_MANY_FILES=1000000 $(CARGO) test --locked -p bakeoff-engine --test agent many_files
	BAKEOFF_KILLS=50 $(CARGO) test --locked -p bakeoff --test kill

# Every parser of foreign input under a coverage-guided fuzzer, 10,000,000 inputs each: hours. FUZZ_RUNS=100000 for minutes.
fuzz:
	@scripts/packages fuzz
	@scripts/fuzz

# Hostile layouts, every way to name them, and random kills; as root, in a machine that can be thrown away.
torture: test-packages build
	$(BAKEOFF) systems --fetch debian:6.12
	scripts/torture $(BAKEOFF) --kernel debian:6.12

# What the house style can check by machine.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# docs/reference, from the declarations of options and of forms.
reference:
	$(CARGO) run --locked -p bakeoff -- manual --reference --folder docs/reference

# A rank beside a plain agent, in turn: benches/ranks.py says how.
bench-ranks: mpi
	python3 benches/ranks.py $(BAKEOFF)

# FORM=brief: a third of the work, and no page written: each ratio is held against that of results/benchmarks.md, and one that was lost fails.
bench: build
	@scripts/packages run bench
	$(CARGO) run --release --locked -p benches -- --bakeoff $(BAKEOFF) $(if $(filter brief,$(FORM)),--brief --out $(TARGET)/benchmarks-brief.md --against results/benchmarks.md)

simulate:
	$(CARGO) run --release --locked -p bakeoff-judge --example simulate

# Whether phases in slices measure the same as in one piece; as root, about half an hour.
slices: packages build
	scripts/slices $(BAKEOFF)

# Replays held against the programs that they were recorded from: the tables of docs/own-work.md; as root, about ten minutes. REPLAY="--programs git --samples 3".
replay-error: packages recipes build
	@scripts/packages replay
	scripts/replay-error $(BAKEOFF) $(REPLAY)

# How well and how soon the quick plan answers, against its goals: results/answer.md; as root, about three hours on a machine without other work.
# It can be done in parts: ANSWER="--in quiet --runs-300 0", for one.
answer: packages build
	scripts/answer $(BAKEOFF) $(ANSWER)

# What filesystems and programs keep when the power goes: the tables of results/power-cuts.md; as root, about half an hour.
powercut: packages build
	scripts/power-cuts $(BAKEOFF)

# What filesystems report, return and keep when their disk fails: the tables of results/faults.md; as root, about half an hour.
faults: packages build
	scripts/faults $(BAKEOFF)

# The page of our published runs and of the same runs measured here: bakeoff-gallery/site/index.html; as root, some two minutes. MEASURE=no: ours alone.
gallery: packages build
	scripts/gallery $(BAKEOFF) $(or $(GALLERY),bakeoff-gallery) $(MEASURE)

# The judge held to known truth on real filesystems; as root, about ten minutes.
judge-real: build
	scripts/judge-on-filesystems $(BAKEOFF)

# What a release consists of, in dist/: tarball, Debian package, bill of materials, checksums. ARCH=arm64 makes those of arm64.
dist:
	@scripts/packages dist
	@CARGO=$(CARGO) scripts/dist $(ARCH)

# The Debian package of dist/ installed, used and removed in a clean Debian 12 and 13; as root, some minutes.
clean-root:
	@scripts/packages clean-root
	scripts/clean-root dist/bakeoff_*_$$(dpkg --print-architecture).deb $(RELEASES)

# An image of dist/, built and run with podman, docker or buildah; as root, where a base can't be fetched it is made.
image:
	@scripts/packages clean-root
	scripts/image

# `cargo install bakeoff`, before anything is published: each crate packaged and built from its package.
crates:
	@CARGO=$(CARGO) scripts/crates

# What docs.rs builds, without warnings.
rustdoc:
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --workspace --no-deps --locked

PREFIX ?= /usr/local
install: build
	install -D -m 755 $(BAKEOFF) $(DESTDIR)$(PREFIX)/bin/bakeoff
	[ ! -e $(BAKEOFF)-ranks ] || install -D -m 755 $(BAKEOFF)-ranks $(DESTDIR)$(PREFIX)/bin/bakeoff-ranks
	rm -rf $(TARGET)/manual
	$(BAKEOFF) manual --folder $(TARGET)/manual
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(TARGET)/manual/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 $(TARGET)/manual/bakeoff.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bakeoff
	install -D -m 644 $(TARGET)/manual/_bakeoff $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_bakeoff
	install -D -m 644 $(TARGET)/manual/bakeoff.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/bakeoff.fish

clean:
	$(CARGO) clean
