# Subledger. `make help` lists the targets; README.md says what the project is.

SWIFT   ?= swift
PREFIX  ?= /usr/local
DEMO    ?= .demo
PACKAGES = git openssl pkg-config libcurl4-openssl-dev libpq-dev libsqlite3-dev libssl-dev \
  libzstd-dev zlib1g-dev
BINARY   = .build/release/subledger
TEST     = SWIFT=$(SWIFT) .ci/tests
SHARE    = $(DESTDIR)$(PREFIX)/share
CATALOG  = Sources/subledger/subledger.docc
MONITORING = $(CATALOG)/monitoring
# The commit for the version, with `.changed` where files differ from it; empty without a repository.
COMMIT   = $(shell test -e .git && git describe --always --abbrev=7 --exclude='*' --dirty=.changed)
# The same program with another fold (`Fold.changed` of the tests), and how many customers `trial`
# compares.
CHANGED  = .build/changed-fold
FOLD     = Sources/Entitlements/Rules/Fold.swift
CUSTOMERS ?= 20000
# Seconds of fuzzing for each parser, and how many hostile inputs are generated.
FUZZ_SECONDS ?= 300
HOSTILE ?= 100000
# How often each command that asks Apple is killed.
KILLS ?= 100
# How many histories are simulated, and how many images of a disk after power loss are checked.
SIMULATIONS ?= 10000
# How many random histories each of the fold's properties is checked on.
LAWS ?= 130000
# How many lives are compared with the truth, and how many are told by any mixture of evidence.
LIVES ?= 20000
MIXED ?= 3000
IMAGES ?= 42000
DAMAGES ?= 500
# A browser for the console's tests and screenshots; Python for the OpenAPI tools and Apple's library.
BROWSER  ?= chromium
CONSOLE_PACKAGES = chromium fonts-dejavu-core
PICTURE_PACKAGES = fonts-inter pngquant
CONTRACT_PACKAGES = python3 python3-venv
PICTURES = .pictures
SCREENSHOTS = .build/screenshots
# Events in the journal that bench-large makes; each needs about 1 KB of disk.
EVENTS   ?= 10000000
# Seconds for which bench-sinks delivers what waited, and how many histories are played of claims and
# grants, and of sinks.
SECONDS  ?= 60
HISTORIES ?= 20000
# What bench-asking recovers, and how many customers it imports.
NOTIFICATIONS ?= 100000
IMPORT ?= 2000

# Installs the Debian package $(2) if the program $(1) is missing; its services are not started.
need = PATH=$$PATH:/usr/sbin command -v $(1) >/dev/null || { \
  if [ "$$(id -u)" = 0 ]; then as_root=""; else as_root="sudo"; fi; \
  $$as_root apt-get update -q && $$as_root env RUNLEVEL=1 apt-get install -y -q \
    --no-install-recommends $(2); }

target = $(firstword $(subst ., ,$(1)))

IMAGE_NEEDS = $(call need,umoci,umoci); $(call need,python3,python3); \
  $(call need,curl,curl); \
  test -d /usr/share/ca-certificates/mozilla || { $(call need,no-such-program,ca-certificates); }; \
  test -d /usr/share/zoneinfo || { $(call need,no-such-program,tzdata); }

.PHONY: help deps deps-postgres build run changed-fold test slices laws truth receipts mixed customers \
  simulation statements books sinks storm shared-journal kills trial test-console test-contract test-client \
  test-webhooks differential consumption test-stand-in screenshots tamper metrics test-tls disk damage \
  torture hostile fuzz check bench-build bench bench-large bench-asking bench-app \
  bench-shared-journal bench-sinks siege sanitize mutants install deb tarball image release \
  reproducible try-compose alerts deploy-files first-hour \
  format clean

help: ## Lists the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

deps: ## Installs missing Debian packages that the build needs
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

# postgresql-common alone first: it says that no cluster is made when the server is installed.
deps-postgres: deps ## Installs what tests start: PostgreSQL without a cluster, pgbouncer, curl, sqlite3
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ]; then as_root=""; else as_root="sudo"; fi; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$as_root apt-get update -q && \
	  $$as_root apt-get install -y -q --no-install-recommends postgresql-common && \
	  $$as_root sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' \
	    /etc/postgresql-common/createcluster.conf && \
	  $$as_root env RUNLEVEL=1 apt-get install -y -q --no-install-recommends postgresql-15; }
	@$(call need,pgbouncer,pgbouncer); $(call need,curl,curl); $(call need,sqlite3,sqlite3)

build: deps ## Builds the release binary
	SUBLEDGER_COMMIT=$(COMMIT) SWIFT=$(SWIFT) .ci/build --product subledger

run: build ## Runs the demo: a simulated App Store, the daemon, one customer; ^C stops it
	@exec $(BINARY) demo --data $(DEMO)

# Of a filter, `Target.Suite/test`, the target is built and the others are not.
test: deps-postgres ## Runs all tests, or with FILTER="StoreTests LedgerTests.OrderTests" those alone
	$(foreach filter,$(FILTER),$(if $(wildcard $(filter %Tests,Tests/$(call target,$(filter)))),,$(error \
	  FILTER begins with a folder of Tests, as StoreTests.QueryTests does: $(filter))))
	$(if $(FILTER),SUBLEDGER_TEST_TARGETS="$(foreach filter,$(FILTER),$(call target,$(filter)))") \
	  $(TEST) $(foreach filter,$(FILTER),--filter '^$(filter)')

# Those of whose work a count decides.
PROGRAMMES = EntitlementsTests|TruthTests|SimulationTests|FuzzTests|StoreTests\.Eras|\
LedgerTests\.(HeldJudging|Statement|MixedEvidence)|DeliveryTests\.(SinkHistory|CustomerHistory)|\
DurabilityTests\.(CustomersDamage|RandomDamage|PowerLoss)|HostileInputTests\.HostileNoise|\
EndToEndTests\.(KillTests|HostileLine)
slices: deps-postgres ## Runs a larger slice of every long programme than `make test` does
	SUBLEDGER_COUNTS=$$(cat .ci/counts) $(TEST) --filter "^($$(echo '$(PROGRAMMES)' | tr -d ' '))"

laws: deps ## Checks each of the fold's properties on LAWS (130,000) random histories
	SUBLEDGER_COUNTS=histories=$(LAWS) $(TEST) --filter EntitlementsTests

truth: deps ## Asks about LIVES (20,000) told in 14 ways; what could be known must be right
	SUBLEDGER_COUNTS=lives=$(LIVES) $(TEST) --filter TruthTests

receipts: deps ## Compares our verdicts with OpenSSL's on 500 receipts and 2,000 damaged ones
	SUBLEDGER_COUNTS=receipts=500 $(TEST) --filter ReceiptAgreementTests

mixed: deps ## Tells ledgers of MIXED random lives by any mixture of evidence (3,000)
	SUBLEDGER_COUNTS=mixed=$(MIXED) $(TEST) --filter '^LedgerTests\.MixedEvidenceTests'

customers: deps ## Compares what CUSTOMERS (20,000) may use with plain rows, at 20 moments each
	SUBLEDGER_COUNTS=customers=$(CUSTOMERS) $(TEST) --filter '^EndToEndTests\.CustomerFleetTests'

simulation: deps ## Simulates 10,000 histories of one daemon and of two, with injected faults
	SWIFT_DETERMINISTIC_HASHING=1 SUBLEDGER_COUNTS=simulations=$(SIMULATIONS),sharedSimulations=$(SIMULATIONS) \
	  $(TEST) --filter SimulationTests

statements: deps ## Plays 20,000 histories of claims and grants, and of what customers have by name
	SUBLEDGER_COUNTS=statements=$(HISTORIES) $(TEST) \
	  --filter '^LedgerTests\.StatementTests' --filter '^DeliveryTests\.CustomerHistoryTests'

books: deps ## Compares the answers of the finance page with the books of 20,000 simulated customers
	SUBLEDGER_COUNTS=books=$(CUSTOMERS),moments=40 $(TEST) --filter '^EndToEndTests\.Finance'

sinks: deps ## Plays 20,000 histories of a sink with failures, crashes and a stepped clock
	SUBLEDGER_COUNTS=sinks=$(HISTORIES) $(TEST) --filter '^DeliveryTests\.SinkHistoryTests'

storm: deps ## Sends 200,000 posts over 64 connections; kills the daemon 60 times under load
	SUBLEDGER_COUNTS=storm=10000,killRounds=60 $(TEST) --filter 'StormTests|CrashTests'

shared-journal: deps-postgres ## Two daemons on PostgreSQL: 20,000 posts, kills, failovers, broken networks
	SUBLEDGER_LONG=1 $(TEST) --filter '^SharedJournalTests\.'

kills: deps ## Kills `recover`, `import` and `reconcile` 100 times each, and compares the rows
	SUBLEDGER_COUNTS=kills=$(KILLS) $(TEST) --filter '^EndToEndTests\.KillTests'

# The copy keeps modification times, so that unchanged files are not compiled again.
changed-fold: deps
	mkdir -p $(CHANGED)
	rm -rf $(CHANGED)/Sources $(CHANGED)/Tests $(CHANGED)/.ci
	cp -a .ci Package.swift Sources Tests migrations $(CHANGED)
	sed -i -e 's/^  public var grace = .*/  public var grace = Entitlement.Status.billingRetry/' \
	  -e 's/^  public var retry = .*/  public var retry = Entitlement.Status.gracePeriod/' \
	  -e 's/\[.active, .gracePeriod\]/[.active, .gracePeriod, .revoked]/' $(CHANGED)/$(FOLD)
	test "$$(diff $(FOLD) $(CHANGED)/$(FOLD) | grep -c '^>')" = 3
	SWIFT=$(SWIFT) $(CHANGED)/.ci/build --product subledger

trial: build changed-fold ## Compares and applies another fold for 20,000 customers, and goes back
	SUBLEDGER_PROGRAM=$(CURDIR)/$(BINARY) SUBLEDGER_COUNTS=fleet=$(CUSTOMERS) \
	  SUBLEDGER_CHANGED_FOLD=$(CURDIR)/$(CHANGED)/.build/release/subledger \
	  $(TEST) --filter '^EndToEndTests\.(ReleaseTests|AnnouncementTests)'

test-console: build ## Tests the console in headless Chromium and validates /openapi.json
	@$(MAKE) --no-print-directory deps \
	  PACKAGES="$(PACKAGES) $(CONSOLE_PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/contract $(BINARY) 0
	SUBLEDGER_AXE=$$(.ci/axe-core) && export SUBLEDGER_AXE && \
	  SUBLEDGER_BROWSER=$(BROWSER) $(TEST) --filter '^EndToEndTests\.Console'

test-contract: build ## Fuzzes the daemon against its OpenAPI document
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/contract $(BINARY)

test-client: build ## Generates a client from the OpenAPI document and asks a daemon with it
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/generated-client $(BINARY)

test-webhooks: build ## Sends messages to the guide's receiver, which verifies them
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/webhook-receiver $(BINARY)

differential: build ## Compares verdicts with Apple's Python library on 300 notifications
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/differential $(BINARY)

consumption: ## Compares what is sent of 1,000 requests for refunds with Apple's Python client
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	SWIFT=$(SWIFT) .ci/consumption

test-stand-in: build ## Asks the local App Store Server API with Apple's Python library
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/stand-in $(BINARY)

screenshots: build ## Takes a screenshot of every page of the console; the README's go to .pictures
	@$(MAKE) --no-print-directory deps \
	  PACKAGES="$(PACKAGES) $(CONSOLE_PACKAGES) $(PICTURE_PACKAGES)"
	mkdir -p $(SCREENSHOTS) $(PICTURES)
	SUBLEDGER_PROGRAM=$(CURDIR)/$(BINARY) SUBLEDGER_BROWSER=$(BROWSER) \
	  SUBLEDGER_SCREENSHOTS=$(CURDIR)/$(SCREENSHOTS) \
	  $(TEST) --filter '^EndToEndTests\.ScreenshotTests'
	pngquant --force --ext .png --speed 1 --strip 64 $(SCREENSHOTS)/*.png
	cp $(SCREENSHOTS)/overview-*.png $(SCREENSHOTS)/subscription-*.png $(PICTURES)

tamper: deps ## Flips 2,000 single bits of a journal of 5,000 events and runs verify on each
	SUBLEDGER_COUNTS=flips=2000,flippedEvents=5000 $(TEST) --filter 'FlippedBitTests|CustomersDamageTests.*verify'

metrics: deps ## Checks /metrics, the alert rules and the dashboard with Debian's promtool
	@$(call need,promtool,prometheus)
	SUBLEDGER_PROMTOOL=$$(command -v promtool) $(TEST) \
	  --filter '^EndToEndTests\.(MetricsTests.*promtool|AlertRule|SilenceRule|Dashboard)'

test-tls: deps ## Tests the nginx.conf that init writes, with Debian's nginx on loopback
	@$(call need,nginx,nginx-light); $(call need,curl,curl)
	SUBLEDGER_NGINX=$$(PATH=$$PATH:/usr/sbin command -v nginx) $(TEST) --filter ProxyTests

# Disk images after power loss, and every injected disk fault, one after the other.
disk: deps ## Checks 42,000 power-loss images and fails every read, write, sync and rename
	SUBLEDGER_COUNTS=images=$(IMAGES) SUBLEDGER_LONG=1 TMPDIR=$$(test -w /dev/shm && echo /dev/shm || echo /tmp) \
	  $(TEST) --filter '^DurabilityTests\.(PowerLoss|Fault|FullDisk|ClockStep)Tests'

damage: deps ## Damages a projection 500 times, customers.sqlite 125 times, at rest and beside a daemon
	SUBLEDGER_COUNTS=damages=$(DAMAGES) $(TEST) --filter 'RandomDamageTests|CustomersDamageTests'

torture: disk simulation storm damage ## Runs disk, simulation, storm and damage

hostile: deps ## Sends 100,000 generated requests and bodies, and feeds 20,000 lines to ingest
	SUBLEDGER_COUNTS=hostile=$(HOSTILE),hostileLines=20000 $(TEST) \
	  --filter '^HostileInputTests\.HostileNoise' --filter '^EndToEndTests\.HostileLine'

fuzz: deps ## Fuzzes each parser that untrusted input reaches, five minutes each
	SWIFT=$(SWIFT) .ci/fuzz $(FUZZ_SECONDS)

check: deps ## Runs tests, larger slices, format check, a short fuzz and a release build
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests migrations
	.ci/mutants --check
	$(MAKE) test
	$(MAKE) slices
	SWIFT=$(SWIFT) .ci/fuzz 4
	$(MAKE) build

bench-build: build
	SWIFT=$(SWIFT) .ci/build --product subledger-bench

# INPUT=FILE stores the signed notifications, or reuses them; JSON=FILE receives the figures.
bench: bench-build ## Measures speed and size as ratios taken in one run; a few minutes
	.build/release/subledger-bench --subledger $(BINARY) --customers $(CUSTOMERS) \
	  $(if $(INPUT),--input $(INPUT)) $(if $(JSON),--json $(JSON))

# DATA=DIR stores the generated journals, or reuses them.
bench-large: bench-build ## Measures with EVENTS (ten million) journaled: 10 GB, half an hour
	.build/release/subledger-bench --large --subledger $(BINARY) --events $(EVENTS) \
	  $(if $(DATA),--data $(DATA)) $(if $(JSON),--json $(JSON))

# NOTIFICATIONS are recovered, and IMPORT customers imported.
bench-asking: build ## Measures memory, answers and import while Apple is asked; ten minutes
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) python3"
	python3 -B .ci/bench-asking.py $(BINARY) --notifications $(NOTIFICATIONS) --import $(IMPORT)

bench-app: build ## Measures POST /v1/transactions and reads of customers; a few minutes
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) python3-cryptography wrk"
	python3 -B .ci/bench-app.py $(BINARY) --customers $(CUSTOMERS)

bench-shared-journal: build deps-postgres ## Measures what a shared journal costs; some minutes
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) python3-cryptography wrk"
	python3 -B .ci/bench-shared-journal.py $(BINARY)

# EVENTS wait behind a sink that was down; SECONDS: how long they are delivered at most.
bench-sinks: EVENTS = 200000
bench-sinks: bench-build ## Measures webhooks, and what they cost notifications; some minutes
	.build/release/subledger-bench --sinks --subledger $(BINARY) --events $(EVENTS) \
	  --seconds $(SECONDS) $(if $(INPUT),--input $(INPUT)) $(if $(JSON),--json $(JSON))

siege: bench-build ## Measures under 2,000 slow clients and under ten times the load
	.build/release/subledger-bench --siege --subledger $(BINARY)

sanitize: deps-postgres ## Runs all tests under the thread sanitizer, then under the address sanitizer
	SWIFT=$(SWIFT) .ci/sanitize thread
	SWIFT=$(SWIFT) .ci/sanitize address

mutants: deps-postgres ## Breaks lines one at a time, as Tests/Mutants says; tests must fail for each
	SWIFT=$(SWIFT) .ci/mutants

install: build ## Installs binary, manual, pages, completions and alert rules under PREFIX (/usr/local)
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/subledger
	install -d $(SHARE)/man/man1 $(SHARE)/man/man5 $(SHARE)/bash-completion/completions \
	  $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(BINARY) man subledger >$(SHARE)/man/man1/subledger.1
	$(BINARY) man subledger-config >$(SHARE)/man/man5/subledger-config.5
	$(BINARY) completions bash >$(SHARE)/bash-completion/completions/subledger
	$(BINARY) completions zsh >$(SHARE)/zsh/site-functions/_subledger
	$(BINARY) completions fish >$(SHARE)/fish/vendor_completions.d/subledger.fish
	install -D -m 0644 -t $(SHARE)/doc/subledger $(MONITORING)/alerts.yml $(MONITORING)/dashboard.json \
	  $(CATALOG)/Operating.md
	install -D -m 0644 -t $(SHARE)/doc/subledger/operating $(CATALOG)/operating/*.md
	install -D -m 0644 -t $(SHARE)/doc/subledger/deploy $(CATALOG)/deploy/compose.yaml \
	  $(CATALOG)/deploy/Caddyfile
	install -D -m 0644 -t $(SHARE)/doc/subledger/deploy/kubernetes $(CATALOG)/deploy/kubernetes/*.yaml

deb: build ## Builds a Debian package, checks it with lintian, and tries it in a fresh Debian
	@$(call need,dpkg-shlibdeps,dpkg-dev); $(call need,lintian,lintian); $(call need,man,man-db)
	.ci/try-package $$(.ci/package deb)

# Needs root, for chroot; leaves the console's pictures in .build/first-hour.
first-hour: build ## Plays the first hour in a fresh Debian 12: package, import, console, backup, upgrade
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONSOLE_PACKAGES)"
	@$(call need,dpkg-shlibdeps,dpkg-dev); $(call need,mmdebstrap,mmdebstrap)
	SUBLEDGER_PACKAGE=$(CURDIR)/$$(.ci/package deb) \
	  SUBLEDGER_NEXT_PACKAGE=$(CURDIR)/$$(VERSION=1.0.0 .ci/package deb) \
	  SUBLEDGER_FIRST_HOUR=$(CURDIR)/.build/first-hour SUBLEDGER_BROWSER=$(BROWSER) \
	  $(TEST) --filter '^EndToEndTests\.FirstHour'

tarball: build ## Builds an archive to unpack in /usr/local
	@$(call need,dpkg-shlibdeps,dpkg-dev)
	.ci/package tarball

image: build ## Builds an OCI image, and tries it as its user with a read-only root
	@$(IMAGE_NEEDS)
	.ci/try-image $$(.ci/image) $(BINARY)

# MINISIGN_KEY=FILE signs the sums; REHEARSAL=1 makes the files without a tag.
release: export RELEASE = 1
release: build ## Makes the files of a release: package, tarball, image, SBOM, sums, signature
	@$(IMAGE_NEEDS); $(call need,dpkg-shlibdeps,dpkg-dev); $(call need,minisign,minisign); \
	dpkg-query -W python3-venv >/dev/null 2>&1 || { $(call need,no-such-program,python3-venv); }
	PACKAGES="$(PACKAGES)" .ci/release

reproducible: ## Makes the files of a release twice from this commit, and compares them
	.ci/reproducible

try-compose: image ## Tries the guide's Compose file as a whole, by podman as root
	.ci/try-compose .build/dist/*.oci.tar $(BINARY)

alerts: build deps-postgres ## Provokes each alert with daemons, and asks promtool whether it fires
	@$(call need,promtool,prometheus)
	PYTHONDONTWRITEBYTECODE=1 python3 .ci/alerts.py $(BINARY)

deploy-files: ## Checks the guide's files for Compose and Kubernetes against their schemas
	@$(MAKE) --no-print-directory deps PACKAGES="$(PACKAGES) $(CONTRACT_PACKAGES)"
	.ci/deploy-files

format: ## Formats the code
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests migrations

clean: ## Removes build products and the demo
	rm -rf .build $(DEMO)
