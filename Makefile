# Every target installs its dependencies first. A machine needs make, git, Node.js 20 or newer and npm.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

BUN := node_modules/.bin/bun
# A stamp: newer than package-lock.json when its packages are installed.
PACKAGES := node_modules/.installed
# The list includes directories, so that removing a file also makes the binaries out of date.
SOURCES := $(shell find cmd internal ! -name '*.test.ts' ! -name '.*') package.json package-lock.json \
  release/compile.ts release/console.ts release/doors.ts release/build.ts
BINARIES := dist/svc-master dist/svc-peel dist/svc
# The commit whose binaries a fleet is upgraded from.
EARLIER ?= 22c795a576277dd0842b72d5ad151a3cd72f81d2
BENCHES := tls/main listener/main refusals/main walls/main audit/main ca/main ca-rotate/main targeting/main peels/main reactor/main reactor/dispatch settings/main render/main masking/main states-publish/main \
  commands/main jobs/main dispatch/main run-client/main history/main job-list/main lists/main answers/main rollout/main states/main upgrade/main budgets/main flood/main renew/main twins/main bulk/main join/main start/main idle/main console/main

.PHONY: help
help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

.PHONY: tools
tools: $(PACKAGES) nats-server ## Install the npm packages and the newest nats-server of Debian for the tests.

$(PACKAGES): package.json package-lock.json release/install-packages.sh
	@release/install-packages.sh
	@touch $@

# Checked in every run: the machine's own server may have been installed or removed.
.PHONY: nats-server
nats-server:
	@release/install-nats-server.sh

# Checked in every run, like the server; it is fetched once.
.PHONY: chromium
chromium:
	@release/install-chromium.sh

# The same, for a TPM in software and the commands that drive it.
.PHONY: tpm-tools
tpm-tools:
	@release/install-tpm-tools.sh

# The same, for zsh and fish.
.PHONY: shells
shells:
	@release/install-shells.sh

.PHONY: build
build: $(BINARIES) ## Build dist/svc-master, dist/svc-peel and dist/svc for this machine.

$(BINARIES): dist/%: $(SOURCES) | $(PACKAGES)
	@$(BUN) release/build.ts $*

# What does not wait for each other runs two at a time; each prints what it says when it ends.
TOGETHER := -j2 --output-sync=target
CHECKS := lint types unused

.PHONY: check
check: $(PACKAGES) ## Check format, types, architecture and dead code.
	@$(MAKE) $(TOGETHER) $(CHECKS) architecture

.PHONY: $(CHECKS) architecture
lint: $(PACKAGES)
	node_modules/.bin/biome ci --error-on-warnings

types: $(PACKAGES)
	node_modules/.bin/tsc --noEmit

unused: $(PACKAGES)
	node_modules/.bin/knip --no-progress
	node_modules/.bin/knip --no-progress --production --include files,dependencies

architecture: $(PACKAGES)
	$(BUN) test --timeout 60000 ./test/arch

# Every test includes those of the architecture.
.PHONY: test
test: tools chromium tpm-tools shells ## Build, check, and run every test.
	@$(MAKE) $(TOGETHER) build $(CHECKS)
	@release/run-tests.sh

# The programs that states call, for private roots; nothing is installed on this machine.
.PHONY: host-packages
host-packages:
	@release/download-host-packages.sh

.PHONY: host
host: build tools host-packages ## Run the states of a whole system in private copies of this machine; needs root. FORMULAS=DIR adds public formulas.
	@release/run-tests.sh $(if $(FORMULAS),./test/e2e/formulas.host.ts) $(addprefix ./test/e2e/,$(addsuffix .host.ts,$(HOST)))

# Tests of the host, each a file test/e2e/NAME.host.ts.
HOST = private-root system-states mount-states service-states salt-states package-states firewall-states lvm-states selinux-states database-states docker-states secrets-states watchdog ipv6-fleet

.PHONY: exports
exports: build tools ## Show a fleet to a real Prometheus and a real Ansible (Debian's package and PyPI's, below .tools).
	@release/install-peer-tools.sh prometheus ansible
	@release/run-tests.sh ./test/e2e/exports.tools.ts

.PHONY: api-fuzz
api-fuzz: build tools ## Send what schemathesis (PyPI, below .tools) makes of the API description, in each role: ROLES=viewer,none, SEED=1, EXAMPLES=10.
	@release/install-peer-tools.sh schemathesis
	@$(BUN) test/schemathesis/main.ts --seed $(or $(SEED),1) --examples $(or $(EXAMPLES),10) $(if $(ROLES),--roles $(ROLES))

.PHONY: upgrades
upgrades: build tools ## Upgrade fleets of an earlier commit in both orders, replace its root and keys, move one to three hosts, and run clusters and sites with each server; EARLIER=COMMIT.
	@earlier=$$(release/build-earlier.sh $(EARLIER)) && \
	  EARLIER_BINARIES=$$earlier release/run-tests.sh ./test/upgrades/either-order.ts ./test/upgrades/followed.ts ./test/upgrades/rotations.ts ./test/upgrades/moved.ts ./test/upgrades/clusters.ts ./test/upgrades/sites.ts ./test/upgrades/sites-kept.ts

.PHONY: identities
identities: build tools ## Credentials of one minute for five minutes of faults, keys and a root replaced in a running fleet, and kills at every step on the disk; SEED=1.
	@release/run-tests.sh ./test/identities/replaced-keys.ts ./test/identities/replaced-root.ts ./test/identities/five-minutes.ts ./test/identities/every-step.ts

.PHONY: incidents
incidents: build tools ## Stage what wakes an operator at night, compare the exact words of status, doctor, log and API, and follow the next steps until the fleet is well.
	@release/run-tests.sh $(wildcard ./test/incidents/*.incident.ts)

.PHONY: races
races: $(PACKAGES) ## Replace directories with links while each writer writes 10,000 files; needs root.
	@SVC_RACE_FILES=10000 $(BUN) test --timeout 600000 ./internal/tree/functions/swap-race.test.ts ./internal/host/modules/swap-race.test.ts

.PHONY: chaos
chaos: build tools ## Break a fleet in its own namespaces (docs/development.md): MINUTES=3, SEED=1; needs root.
	@$(BUN) test/chaos/main.ts

.PHONY: formulas
formulas: build ## Compare the states of public formulas with those of Salt; needs root. FORMULAS=DIR, ARGS="--only NAME"; SALT=DIR runs the salt-call there.
	@$(BUN) test/formulas/$(if $(SALT),with-salt.ts --salt $(SALT),main.ts) $(ARGS) $(or $(FORMULAS),../shared/formulas)

.PHONY: formula-plans
formula-plans: $(PACKAGES) ## Compare what masters compile of public formulas for plans with what peels compile, for 20 kinds of hosts. FORMULAS=DIR
	@$(BUN) test/formulas/plans.ts $(or $(FORMULAS),../shared/formulas)

.PHONY: jinja-fuzz
jinja-fuzz: $(PACKAGES) ## Compare random templates with Jinja: SEED=1, CASES=5000; PYTHON=FILE is another Python, SALT=1 one with Salt; REFRESH=1 renews the data of the tests.
	@$(if $(PYTHON),,release/install-jinja.sh)
	@$(BUN) test/jinja-fuzz/main.ts --seed $(or $(SEED),1) --cases $(or $(CASES),5000) \
	  $(if $(PYTHON),--python $(PYTHON)) $(if $(SALT),--salt) $(if $(REFRESH),--refresh)

.PHONY: demo
demo: build tools ## Run a small fleet on this machine and show the enrollment flow.
	@test/e2e/demo.sh

.PHONY: bench
bench: build tools chromium ## Measure each promise beside its floor (docs/bench.md); SMALLEST=1 only shows that each runs.
	@$(BUN) test/bench/enroll/main.ts $(if $(SMALLEST),--smallest) $(BENCH)
	@set -e; for bench in $(BENCHES); do $(BUN) test/bench/$$bench.ts $(if $(SMALLEST),--smallest); done

# A product that cannot be had here is named, and its rows are left out.
.PHONY: bench-peers
bench-peers: build tools ## Measure Salt, CFEngine, Puppet and step next to this product, fetched below .tools: ONLY=files,idle.
	@release/install-peer-tools.sh salt cfengine puppet step step-ca || true
	@$(BUN) test/bench/peers/main.ts $(if $(ONLY),--only $(ONLY))

.PHONY: scale
scale: build tools ## Grow a fleet and measure what each size costs (docs/bench.md): PEELS=10,100,1000,5000,10000, SERVERS=1, REPLICAS=3.
	@$(BUN) test/bench/scale/main.ts $(if $(PEELS),--peels $(PEELS)) $(if $(SERVERS),--servers $(SERVERS)) $(if $(REPLICAS),--replicas $(REPLICAS))

.PHONY: soak
soak: build tools ## Load a fleet of 500 peels under faults for hours, and print what grows (docs/bench.md): HOURS=2, SEED=1.
	@$(BUN) test/bench/soak/main.ts --hours $(or $(HOURS),2) --seed $(or $(SEED),1)

.PHONY: release
release: $(PACKAGES) nats-server ## Build every binary for every platform, the masters with a server; NATS_SERVER=/path or none.
	@$(BUN) release/release.ts $(filter-out none,$(or $(NATS_SERVER),.tools/bin/nats-server))

.PHONY: packages
packages: release ## Build a release and its Debian packages.
	@$(BUN) release/packages.ts deb

.PHONY: rpms
rpms: release ## Build a release and its RPM packages; fetches rpmbuild from Debian if it is missing.
	@release/install-rpmbuild.sh
	@$(BUN) release/packages.ts rpm

.PHONY: packages-test
packages-test: build ## Install, upgrade and remove the Debian packages in a private Debian system; needs root.
	@$(BUN) release/packages.ts deb own
	@test/e2e/packages.sh

# Each in its short form, where it has one; see release/every-target.ts.
.PHONY: everything
everything: $(PACKAGES) ## Run every target one after the other, long ones in a short form, and count: ONLY=demo,test.
	@$(BUN) release/everything.ts

.PHONY: man
man: $(PACKAGES) ## Write the manual pages to dist/man, for man -M.
	@$(BUN) release/man.ts

.PHONY: reference
reference: tools ## Write what is generated: reference pages of docs/, examples of release/config/.
	@SVC_WRITE_REFERENCE=1 $(BUN) test --only-failures $$(grep -rl --include='*.test.ts' checkGenerated test) >/dev/null
	@git status --short -- docs release

.PHONY: fmt
fmt: $(PACKAGES) ## Format the code and apply safe fixes.
	node_modules/.bin/biome check --write

.PHONY: clean
clean: ## Remove all built and installed files.
	rm -rf dist .tools node_modules
