# Subledger. `make help` lists what can be done; README.md says what it is.

SWIFT   ?= swift
PREFIX  ?= /usr/local
DEMO    ?= .demo
PACKAGES = git openssl pkg-config libsqlite3-dev libssl-dev libzstd-dev
# The Swift standard library goes into the binary: it runs where there is no toolchain.
RELEASE  = -c release --static-swift-stdlib
BINARY   = .build/release/subledger
TEST     = SWIFT=$(SWIFT) .ci/tests
SHARE    = $(DESTDIR)$(PREFIX)/share
# The same program with a changed rule, and how many customers it is tried on.
CHANGED  = .build/changed-rule
CUSTOMERS ?= 20000
# How long each target is fuzzed, in seconds, and how many hostile inputs are generated.
FUZZ_SECONDS ?= 300
HOSTILE ?= 100000
# How many histories are simulated, and how many images of a disk without power are looked at.
SIMULATIONS ?= 30000
IMAGES ?= 42000
# A browser for the console's tests and pictures; Python for the contract's tools.
BROWSER  ?= chromium
CONSOLE_PACKAGES = chromium fonts-dejavu-core
PICTURE_PACKAGES = fonts-inter pngquant
CONTRACT_PACKAGES = python3 python3-venv
PICTURES = .pictures
# Of the large journal that bench-large makes, about 1 KB of disk each.
EVENTS   ?= 10000000

# Installs a Debian package where a program of it is missing; no daemon of it is started.
need = PATH=$$PATH:/usr/sbin command -v $(1) >/dev/null || { \
  if [ "$$(id -u)" = 0 ]; then as_root=""; else as_root="sudo"; fi; \
  $$as_root apt-get update -q && $$as_root env RUNLEVEL=1 apt-get install -y -q \
    --no-install-recommends $(2); }

.PHONY: help deps build run test laws simulation storm trial test-console \
  test-contract screenshots tamper metrics test-tls disk torture hostile fuzz check bench-build \
  bench bench-large siege sanitize mutants install format clean

help: ## Lists the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

deps: ## Installs the Debian packages that building needs, where they are missing
	@missing=""; for package in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
	    || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  if [ "$$(id -u)" = 0 ]; then as_root=""; else as_root="sudo"; fi; \
	  $$as_root apt-get update -q && $$as_root apt-get install -y -q --no-install-recommends $$missing; \
	fi
	@command -v $(SWIFT) >/dev/null || { \
	  echo "there is no '$(SWIFT)'; install the toolchain of .swift-version from swift.org"; exit 3; }

build: deps ## Builds the release binary
	$(SWIFT) build $(RELEASE) --product subledger

run: build ## Shows the main job: a simulated App Store, the daemon, one customer; until ^C
	@exec $(BINARY) demo --data $(DEMO)

test: deps ## Runs all tests
	$(TEST)

laws: deps ## Holds the fold's laws over a hundred times as many random histories
	SUBLEDGER_HISTORIES=2000000 $(TEST) --filter EntitlementsTests

simulation: deps ## Plays 30,000 histories of the whole ledger, with every kind of trouble
	SWIFT_DETERMINISTIC_HASHING=1 SUBLEDGER_SIMULATIONS=$(SIMULATIONS) \
	  $(TEST) --filter SimulationTests

storm: deps ## 10,000 notifications twenty times each over 64 connections; 60 kills under 32
	SUBLEDGER_STORM=10000 SUBLEDGER_KILL_ROUNDS=60 $(TEST) --filter 'StormTests|CrashTests'

trial: build ## Compares, applies and takes back a changed rule on a fleet of 20,000 customers
	SWIFT=$(SWIFT) .ci/changed-rule $(CHANGED) $(RELEASE) --product subledger
	SUBLEDGER_PROGRAM=$(CURDIR)/$(BINARY) SUBLEDGER_CHANGED_FLEET=$(CUSTOMERS) \
	  SUBLEDGER_CHANGED_RULE=$(CURDIR)/$(CHANGED)/.build/release/subledger \
	  $(TEST) --filter '^EndToEndTests\.Release'

test-console: build ## Drives the console with a headless Chromium, and validates /openapi.json
	@$(MAKE) --no-print-directory deps \
	  PACKAGES="$(PACKAGES) $(CONSOLE_PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/contract $(BINARY) 0
	SUBLEDGER_BROWSER=$(BROWSER) $(TEST) --filter '^EndToEndTests\.ConsoleTests'

test-contract: build ## Holds the OpenAPI document and the daemon to each other, with a fuzz
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/contract $(BINARY)

screenshots: build ## Takes the README's pictures of the console
	@$(MAKE) --no-print-directory deps \
	  PACKAGES="$(PACKAGES) $(CONSOLE_PACKAGES) $(PICTURE_PACKAGES)"
	mkdir -p $(PICTURES)
	SUBLEDGER_PROGRAM=$(CURDIR)/$(BINARY) SUBLEDGER_BROWSER=$(BROWSER) \
	  SUBLEDGER_SCREENSHOTS=$(CURDIR)/$(PICTURES) \
	  $(TEST) --filter '^EndToEndTests\.ScreenshotTests'
	pngquant --force --ext .png --speed 1 --strip 64 $(PICTURES)/*.png

tamper: deps ## Turns 2,000 bits of a journal of 5,000 events, one at a time, and verifies each
	SUBLEDGER_FLIPS=2000 SUBLEDGER_FLIP_EVENTS=5000 $(TEST) --filter FlippedBitTests

metrics: deps ## Has Debian's promtool judge /metrics
	@$(call need,promtool,prometheus)
	SUBLEDGER_PROMTOOL=$$(command -v promtool) $(TEST) --filter promtoolHasNothingToSay

test-tls: deps ## Tries init's nginx.conf: TLS by Debian's nginx, on loopback
	@$(call need,nginx,nginx-light); $(call need,curl,curl)
	SUBLEDGER_NGINX=$$(PATH=$$PATH:/usr/sbin command -v nginx) $(TEST) --filter ProxyTests

# Images of the disk after a loss of power, and every fault of the disk, one after the other.
disk: deps ## Cuts the power 42,000 times, and fails every read, write, sync and name
	SUBLEDGER_IMAGES=$(IMAGES) SUBLEDGER_FAULTS=all TMPDIR=$$(test -w /dev/shm && echo /dev/shm || echo /tmp) \
	  $(TEST) --filter '^DurabilityTests\.(PowerLoss|Fault|FullDisk|ClockStep)Tests'

torture: disk simulation storm ## All three: the disk, the histories, the storm and the kills

hostile: deps ## Sends 100,000 generated requests and bodies
	SUBLEDGER_HOSTILE=$(HOSTILE) $(TEST) --filter '^HostileInputTests\.HostileNoise'

fuzz: deps ## Fuzzes each parser an outsider reaches, five minutes each
	SWIFT=$(SWIFT) .ci/fuzz $(FUZZ_SECONDS)

check: deps ## Tests, formatting, a short run of the fuzzers, and a release build
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests migrations
	.ci/mutants --check
	$(MAKE) test
	SWIFT=$(SWIFT) .ci/fuzz 4
	$(MAKE) build

bench-build: build
	$(SWIFT) build $(RELEASE) --product subledger-bench

# INPUT=FILE keeps the signed notifications there, or sends those that are; JSON=FILE has figures.
bench: bench-build ## Measures speed and size, as ratios taken in one run; some minutes
	.build/release/subledger-bench --subledger $(BINARY) --customers $(CUSTOMERS) \
	  $(if $(INPUT),--input $(INPUT)) $(if $(JSON),--json $(JSON))

# DATA=DIR keeps the made journals there, or measures on those that are.
bench-large: bench-build ## Measures with EVENTS (ten million) in the journal: 10 GB, half an hour
	.build/release/subledger-bench --large --subledger $(BINARY) --events $(EVENTS) \
	  $(if $(DATA),--data $(DATA)) $(if $(JSON),--json $(JSON))

siege: bench-build ## Two thousand slow clients, then ten times the load: nobody else may notice
	.build/release/subledger-bench --siege --subledger $(BINARY)

sanitize: deps ## Runs all tests under the thread sanitizer, then under the address sanitizer
	SWIFT=$(SWIFT) .ci/sanitize thread
	SWIFT=$(SWIFT) .ci/sanitize address

mutants: deps ## Breaks 86 lines, one at a time: the tests must notice each
	SWIFT=$(SWIFT) .ci/mutants

install: build ## Installs binary, manual page and completions under PREFIX (/usr/local)
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/subledger
	install -d $(SHARE)/man/man1 $(SHARE)/bash-completion/completions \
	  $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(BINARY) man >$(SHARE)/man/man1/subledger.1
	$(BINARY) completions bash >$(SHARE)/bash-completion/completions/subledger
	$(BINARY) completions zsh >$(SHARE)/zsh/site-functions/_subledger
	$(BINARY) completions fish >$(SHARE)/fish/vendor_completions.d/subledger.fish

format: ## Formats the code
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests migrations

clean: ## Removes what was built, and the demo
	rm -rf .build $(DEMO)
