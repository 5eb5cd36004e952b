# The words for what one does here. Each is a line or two; what is longer is a script in scripts/.
# Not here: how it is built (Cargo.toml).

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
FUZZ_SECONDS ?= 300
TARGET := $(or $(CARGO_TARGET_DIR),target)
WIREPRESS := $(TARGET)/release/wirepress

.DEFAULT_GOAL := help
.PHONY: help build quick servers test drivers faults sst demo fuzz break-rules bench bench-smoke bench-pack man completions install

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the release binary, target/release/wirepress
	@scripts/check-tools
	cargo build --release --package wirepress

quick: ## format, lints, unit tests; under a minute once built
	@scripts/check-tools rustfmt clippy
	scripts/break-rules --check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo test --workspace --lib --bins --quiet

servers: ## fetch real MariaDB, MySQL, sysbench and HAProxy into .cache (no root, nothing installed)
	@scripts/fetch-servers

test: ## everything: real servers, checks, all tests, a fuzz smoke, the closing count (what CI runs)
	@scripts/test-all

drivers: servers ## every driver, compressed or not, with TLS or not; keeps the matrix in docs/drivers.md
	@scripts/check-tools
	@scripts/fetch-drivers
	cargo run --quiet --package wirepress-proxy --example drivers

faults: servers ## what goes wrong around a proxy, with the time until clients know; as root all of it (ARGS="black_hole")
	@scripts/check-tools
	scripts/faults $(ARGS)

sst: build servers ## state transfers between two real Galera nodes, and what goes wrong in them (needs root; ARGS="joins")
	@scripts/fetch-servers --sst
	scripts/sst $(ARGS)

demo: build ## the published experiment on an embedded database, in under two minutes (ARGS="--link 1gbit")
	$(WIREPRESS) demo $(ARGS)

fuzz: ## every fuzz target for FUZZ_SECONDS (300) of CPU, FUZZ_JOBS (1) at once
	@scripts/check-tools
	scripts/fuzz $(FUZZ_SECONDS)

break-rules: servers ## breaks each rule of docs/protocol.md in a copy, and wants its tests to fail (ARGS="5 decode")
	@scripts/check-tools
	scripts/break-rules $(ARGS)

bench: build servers ## direct against HAProxy against wirepress, with real sysbench
	scripts/bench-relay $(ARGS)

bench-smoke: servers ## benchmarks for a moment, so that they do not rot; its figures mean nothing
	@scripts/check-tools
	scripts/bench-smoke

bench-pack: build servers ## pack and unpack against pzstd, zstd and others, on a real backup (ARGS=ROUNDS)
	@scripts/fetch-servers --sst
	scripts/bench-pack $(ARGS)

man: build ## man pages, into target/man
	@mkdir -p $(TARGET)/man
	$(WIREPRESS) generate man $(TARGET)/man

completions: build ## shell completions, into target/completions
	@mkdir -p $(TARGET)/completions
	$(WIREPRESS) generate completions bash >$(TARGET)/completions/wirepress
	$(WIREPRESS) generate completions zsh >$(TARGET)/completions/_wirepress
	$(WIREPRESS) generate completions fish >$(TARGET)/completions/wirepress.fish

install: build man completions ## binary, SST method, man pages and completions below DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(WIREPRESS) $(DESTDIR)$(PREFIX)/bin/wirepress
	install -D -m 755 packaging/wsrep_sst_wirepress $(DESTDIR)$(PREFIX)/bin/wsrep_sst_wirepress
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(TARGET)/man/*.1
	install -D -m 644 $(TARGET)/completions/wirepress $(DESTDIR)$(PREFIX)/share/bash-completion/completions/wirepress
	install -D -m 644 $(TARGET)/completions/_wirepress $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_wirepress
	install -D -m 644 $(TARGET)/completions/wirepress.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/wirepress.fish
