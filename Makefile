# Three commands: `make run` (a demo in a sandbox), `make test` (everything that CI judges), `make install`.
PREFIX ?= $(HOME)/.local
CLIENT := @anthropic-ai/claude-code@2.1.325
AXE := axe-core@4.14.0
# Other clients that the tests drive, each as NAME=PACKAGE.
OTHERS := codex=@openai/codex@0.166.0 copilot=@github/copilot@1.0.102 gemini=@google/gemini-cli@0.61.0 opencode=opencode-ai@1.18.33 qwen=@qwen-code/qwen-code@0.24.4
DIST := target/dist

.PHONY: run test build-all install tools static-target

# Builds only the two programs that the demo needs.
run:
	@cargo build --locked --profile demo -p substrate -p substrate-hook
	@"$${CARGO_TARGET_DIR:-target}/demo/substrate" demo

test: tools static-target
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo nextest run --workspace --locked
	cargo test --workspace --doc --locked --quiet
	cargo xtask tidy
	cargo xtask gate
	cargo xtask torture --short

# Builds what `make install` installs.
build-all: static-target
	@cargo xtask dist

install: build-all
	@mkdir -p "$(PREFIX)/bin"
	@install -m 755 $(DIST)/substrate $(DIST)/substrate-hook "$(PREFIX)/bin/"
	@echo "installed substrate and substrate-hook to $(PREFIX)/bin"

# The hook client is linked statically where that is possible; without the target everything still works.
static-target:
	@rustup target list --installed 2>/dev/null | grep -q x86_64-unknown-linux-musl \
	  || rustup target add x86_64-unknown-linux-musl >/dev/null 2>&1 \
	  || echo "note: no x86_64-unknown-linux-musl target; substrate-hook will be linked dynamically"

# What the tests need and a fresh machine may not have. Installs only what is missing.
tools:
	@scripts/test-tools "$(CLIENT)" "$(AXE)" $(OTHERS)
