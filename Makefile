# What people type, and .ci/run. `make` alone lists it. docs/development.md names the scripts for the rest.

GO ?= go
T ?= 30s
SEED ?= 0
DESTDIR ?=

# Program that `install` installs: as it is if it is given (make install BINARY=path), else built first.
BINARY ?= bin/pmdaderived

# The version says the commit. Go would stamp it once more, where git trusts the tree; exported for tests that build, too.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -buildvcs=false)

PCP_CONF ?= /etc/pcp.conf
pcp = $(or $(shell sed -n 's/^$(1)=//p' $(PCP_CONF) 2>/dev/null),$(2))

# How long the tests of one package may take: the ten minutes that go gives them are too few on a machine with other work.
TIMEOUT = -timeout 30m

# The race detector needs a C compiler, the rest does not.
RACE = $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race)
SCRIPTS = Install Remove packaging/Upgrade pmda/examples/dice/Install pmda/examples/dice/Remove .ci/run $(wildcard scripts/*) packaging/build packaging/release $(wildcard packaging/*install packaging/*remove)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# First prerequisite of all that needs Go: who has none hears of it before PCP is installed.
.PHONY: go
go:
	@GO='$(GO)' scripts/check-go

# What `pmdaderived --version` prints and packages are called; and the time of all files in them.
VERSION ?= $(shell scripts/version)
SOURCE_DATE_EPOCH ?= $(or $(shell git -c safe.directory='$(CURDIR)' log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
BUILD = CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(strip $(LDFLAGS) -X main.release=$(VERSION))'

# Folder of the manual pages.
PAGES = bin/man

.PHONY: build
build: man ## build the agent, static, and its manual pages: bin/pmdaderived, bin/man
	$(BUILD) -o bin/pmdaderived ./cmd/pmdaderived

.PHONY: man
man: go
	@env -u GOARCH -u GOOS $(GO) run ./packaging/manpages $(PAGES) '$(VERSION)'

bin/private-pmcd: go FORCE
	@CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./test/pmcdtest/cmd/private-pmcd

.PHONY: FORCE
FORCE:

.PHONY: pcp
pcp: go
	@scripts/install-pcp

.PHONY: pcp-demo
pcp-demo: go
	@scripts/install-pcp -demo

.PHONY: demo
demo: pcp-demo build bin/private-pmcd ## show the agent live, on a private pmcd
	@[ "$$(id -u)" -ne 0 ] || chown -R --reference=. bin # root was needed for PCP only: others go on
	@BINARY=bin/pmdaderived scripts/demo

.PHONY: test
test: go ## run all tests (installs what is missing: PCP, groff, mandoc, zsh, a Redis server)
	@scripts/install-pcp -test
	$(strip $(GO) test -tags pcp $(RACE) $(TIMEOUT) $(GOTESTFLAGS)) -skip '^Test(Install|Fleet|Soak)' ./...
	@GO='$(GO)' scripts/check-install $(GOTESTFLAGS)
	@GO='$(GO)' scripts/check-fleet $(GOTESTFLAGS)

.PHONY: check-soak
check-soak: go ## run the shortest soak, of two minutes: whatever does not depend on the speed of the machine must hold
	@scripts/install-pcp
	$(strip $(GO) test -tags pcp $(TIMEOUT) $(GOTESTFLAGS)) -run '^TestSoak' ./test/rig/cmd/rig

SUITES = bookworm trixie sid

.PHONY: suites
suites: go ## run make demo and make test on new machines with other Debian suites (as root; 30 min)
	@failed=; for suite in $(SUITES); do GO='$(GO)' scripts/suite $$suite || failed="$$failed $$suite (exit status $$?)"; done; \
	[ -z "$$failed" ] || { echo "these suites failed:$$failed; scripts/suite has the meaning of each exit status"; exit 1; }

.PHONY: conformance
conformance: pcp ## compare with recorded answers of libpcp, and print a table
	@$(GO) test -tags pcp -json -count=1 -run '^(TestCorpus|TestConformance|TestDocumentListsDifferences|TestConverterTable|TestExtraUnits|TestParseUnitsAnswersAsLibpcp|TestUnitsPrintAsLibpcp)$$' \
		./pdu ./config ./derived ./derived/syntax ./derived/units ./test ./test/conformance | $(GO) run ./test/conformance/cmd/conformance-table

.PHONY: oracle
oracle: pcp ## compare random expressions with libpcp: make oracle T=10m [SEED=n]
	$(GO) test -tags pcp -count=1 -v -timeout 0 -run '^TestOracle$$' ./test -args -oracle $(T) -oracle-seed $(SEED)

.PHONY: archives
archives: pcp ## compare all archives below a folder with what libpcp reads (needs a C compiler and libpcp's headers): make archives DIR=folder
	$(GO) test -count=1 -v -timeout 0 -tags archives -run 'Archives$$' ./pmda/pmapi/archive -args -archives $(abspath $(DIR))

# Build tags of tests that need more than Go.
TAGS = pcp,rpm,archives,oracle

.PHONY: check
check: go ## check the source: format, vet, staticcheck, layers, shell syntax, go.mod
	@unformatted=$$($(GO) tool gofumpt -l .); [ -z "$$unformatted" ] || \
		{ echo "not formatted (go tool gofumpt -w): $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags $(TAGS) ./...
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags $(TAGS) ./...
	$(GO) test -count=1 -run '^TestLayering' ./test
	@for script in $(SCRIPTS); do sh -n $$script || exit 1; done
	$(GO) mod tidy -diff

.PHONY: fuzz
fuzz: go ## run every fuzz target for T each: make fuzz T=30s
	@for package in $$($(GO) list ./...); do \
		targets=$$($(GO) test -list '^Fuzz' $$package) || { echo "$$targets"; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(T) -fuzzminimizetime 1s $$package || exit 1; \
		done; \
	done

# What the benchmark measures and is measured with.
BENCH_PROGRAMS = bin/bench/bulk bin/bench/client bin/bench/pmdaderived
BENCH_CFLAGS = -O2 -Wall -Wextra

bin/bench/bulk: test/bench/c/bulk.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $< -lpcp_pmda -lpcp

bin/bench/client: test/bench/c/client.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $< -lpcp

bin/bench/pmdaderived: FORCE
	@CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/pmdaderived

bin/rig: go FORCE
	@CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./test/rig/cmd/rig

.PHONY: bench-programs
bench-programs: go # in a make of its own: it may not look for a compiler before that is installed
	@scripts/install-pcp -bench
	@$(MAKE) -s --no-print-directory $(BENCH_PROGRAMS) bin/rig

# A T that is given is the time for each comparison, or of the soak. T stands for something else unless it is given.
BENCH_TIME = $(if $(filter file,$(origin T)),,-t $(T))

.PHONY: bench
bench: bench-programs ## compare the speed with C, libpcp and pmie: make bench [T=5s] [BENCHFLAGS='-quick -strict -v']
	@bin/rig bench $(BENCH_TIME) $(BENCHFLAGS) bin/bench

.PHONY: bench-go
bench-go: go ## run all Go benchmarks (BENCHFLAGS=-count=10 for benchstat)
	$(strip $(GO) test -run '^$$' -bench . -benchmem $(BENCHFLAGS)) ./...

.PHONY: soak
soak: pcp build bin/rig ## check every value under load and faults: make soak [T=10m] [SEED=n] [LIARS=2]
	@bin/rig soak $(BENCH_TIME) $(if $(filter file,$(origin SEED)),,-seed $(SEED)) $(if $(LIARS),-liars $(LIARS)) bin/pmdaderived

.PHONY: clean
clean: ## remove what was built or measured
	rm -rf bin cover.out

# Where PCP keeps things; the second value is Debian's, for a build host without PCP.
pmda_dir = $(DESTDIR)$(call pcp,PCP_PMDAS_DIR,/var/lib/pcp/pmdas)/derived
site_dir = $(DESTDIR)$(call pcp,PCP_SYSCONF_DIR,/etc/pcp)/pmdaderived
config_dir = $(DESTDIR)$(call pcp,PCP_VAR_DIR,/var/lib/pcp)/config
# The tools whose configuration is in directories of PCP_SYSCONF_DIR.
tools_dir = $(DESTDIR)$(call pcp,PCP_SYSCONF_DIR,/etc/pcp)
tool_files = pmrep/derived.conf dstat/derived htop/meters/derived htop/screens/derived
share_dir = $(DESTDIR)/usr/share
bin_dir = $(DESTDIR)$(call pcp,PCP_BIN_DIR,/usr/bin)
man_dir = $(DESTDIR)$(call pcp,PCP_MAN_DIR,/usr/share/man)
# What the agent and the site have made.
kept = $(site_dir) $(addprefix $(config_dir)/pmda/,derived.identities* .derived.identities.*) \
	$(addprefix $(DESTDIR)$(call pcp,PCP_LOG_DIR,/var/log/pcp)/pmcd/,derived.log derived.log.prev) \
	$(DESTDIR)$(call pcp,PCP_TMP_DIR,/var/lib/pcp/tmp)/mmv/pmdaderived
# Directories of PCP_VAR_DIR/config that have nothing but files of ours.
own_config = $(addprefix $(config_dir)/,pmdaderived pmlogconf/derived pmieconf/derived)
pmcd_conf = $(call pcp,PCP_PMCDCONF_PATH,/etc/pcp/pmcd/pmcd.conf)

# Lists and recipes split at blanks: something else than what is below DESTDIR would be removed.
check_destdir = $(if $(word 2,.$(DESTDIR).),$(error DESTDIR must not have blanks: "$(DESTDIR)"))
check_purge = $(if $(filter-out yes,$(PURGE)),$(error PURGE is yes or is not given: "$(PURGE)"))

.PHONY: install
install: $(if $(filter file,$(origin BINARY)),build) ## install the files where Install expects them (DESTDIR=)
	@$(check_destdir)
	install -d -m 755 $(pmda_dir) $(site_dir) $(bin_dir)
	install -m 755 $(BINARY) $(pmda_dir)/pmdaderived.new
	mv -f $(pmda_dir)/pmdaderived.new $(pmda_dir)/pmdaderived
	install -m 755 Install Remove packaging/Upgrade $(pmda_dir)
	install -m 644 pmns packaging/root domain.h help $(pmda_dir)
	ln -sf $(patsubst $(DESTDIR)%,%,$(pmda_dir))/pmdaderived $(bin_dir)/pmdaderived
	rm -rf $(own_config)
	install -D -m 644 -t $(config_dir)/pmdaderived conf/*.conf
	install -D -m 644 -t $(share_dir)/pmdaderived/optional optional/*.conf
	install -D -m 644 -t $(config_dir)/pmlogconf/derived integration/pmlogconf/*
	install -D -m 644 -t $(config_dir)/pmieconf/derived integration/pmieconf/*
	install -D -m 644 -t $(config_dir)/pmchart integration/pmchart/*
	@for file in $(tool_files); do install -D -m 644 integration/$$file $(tools_dir)/$$file || exit 1; done
	install -D -m 644 -t $(share_dir)/pmdaderived/dashboards integration/grafana/*.json
	sed 's/redis/valkey/g; s/Redis/Valkey/g' integration/grafana/pcp-derived-host-redis.json | \
		install -m 644 /dev/stdin $(share_dir)/pmdaderived/dashboards/pcp-derived-host-valkey.json
	install -D -m 644 integration/completion/pmdaderived.bash $(share_dir)/bash-completion/completions/pmdaderived
	install -D -m 644 -t $(share_dir)/zsh/vendor-completions integration/completion/_pmdaderived
	install -d $(share_dir)/zsh/site-functions
	ln -sf ../vendor-completions/_pmdaderived $(share_dir)/zsh/site-functions/_pmdaderived # for zsh that is not Debian's
	@for page in pmdaderived.1 pmdaderived.5; do \
		if [ ! -e $(PAGES)/$$page ]; then echo "no manual page $$page: make man (needs Go) makes it" >&2; continue; fi; \
		install -D -m 644 $(PAGES)/$$page $(man_dir)/man$${page##*.}/$$page || exit 1; \
	done
	@[ -n "$(DESTDIR)" ] || echo "next: $(pmda_dir)/Install"

.PHONY: uninstall
uninstall: ## remove installed files (run Remove first); PURGE=yes: also definitions, metric identifiers and logs
	@$(check_destdir)$(check_purge)
	@[ -n "$(DESTDIR)" ] || ! grep -q '^derived[[:space:]]' $(pmcd_conf) 2>/dev/null || \
		{ echo "pmcd still runs the agent: run $(pmda_dir)/Remove first"; exit 1; }
	rm -rf $(pmda_dir) $(own_config) $(share_dir)/pmdaderived
	rm -f $(patsubst integration/pmchart/%,$(config_dir)/pmchart/%,$(wildcard integration/pmchart/*)) $(addprefix $(tools_dir)/,$(tool_files))
	rm -f $(share_dir)/bash-completion/completions/pmdaderived $(share_dir)/zsh/*/_pmdaderived
	rm -f $(bin_dir)/pmdaderived $(man_dir)/man1/pmdaderived.1 $(man_dir)/man5/pmdaderived.5
	@rmdir $(site_dir) $(addprefix $(tools_dir)/,htop/screens htop/meters htop dstat pmrep) 2>/dev/null || true
	@kept=$$(ls -d $(kept) 2>/dev/null) || true; \
	if [ -z "$$kept" ]; then :; \
	elif [ -n "$(filter yes,$(PURGE))" ]; then rm -rf $$kept && printf '%s\n' 'and with definitions, metric identifiers and logs:' $$kept; \
	else \
		printf '%s\n' 'definitions, metric identifiers and logs are left; make uninstall PURGE=yes removes these, too:' $$kept; \
	fi

# Runs a tool that Go fetches. The module cache comes first, or Go asks the network for a deprecation of what it has.
RUN = env -u GOARCH -u GOOS GOPROXY=file://$(shell $(GO) env GOMODCACHE)/cache/download,$(shell $(GO) env GOPROXY) $(GO) run

# nfpm makes packages of both kinds. From 2.46 on it needs modules that not every proxy has.
NFPM = $(RUN) github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
PACKAGES_DIR = bin/packages
# Who publishes packages gives an address of their own: make packages MAINTAINER='NAME <ADDRESS>'.
MAINTAINER ?= pmdaderived authors
# Likewise the address of the project: make packages URL=https://…. This one is that of the project that this extends.
URL = https://pcp.io

# PCP_CONF: a package has the paths of PCP's packages, wherever it is made.
.PHONY: packages
packages: PAGES = $(PACKAGES_DIR)/man
packages: LDFLAGS = -s -w # traces have names and lines even so
packages: man ## make bin/packages/*.deb and *.rpm (two to seven minutes the first time): make packages [VERSION=1.2.0] [GOARCH=arm64]
	@rm -rf $(PACKAGES_DIR)/root $(PACKAGES_DIR)/program $(PACKAGES_DIR)/pmdaderived[_-]*
	$(BUILD) -o $(PACKAGES_DIR)/program/pmdaderived ./cmd/pmdaderived
	@$(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(PACKAGES_DIR))/root PCP_CONF=/dev/null \
		BINARY=$(PACKAGES_DIR)/program/pmdaderived PAGES=$(PAGES)
	@STAGE=$(abspath $(PACKAGES_DIR))/root OUT=$(PACKAGES_DIR) VERSION='$(VERSION)' ARCH=$(or $(GOARCH),$(shell $(GO) env GOARCH)) \
		MAINTAINER='$(MAINTAINER)' URL='$(URL)' SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) GO='$(GO)' NFPM='$(NFPM)' packaging/build

# What a program is built from, as CycloneDX has it.
SBOM = $(RUN) github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
RELEASE_DIR = bin/release
ARCHS = amd64 arm64

.PHONY: release
release: man ## make bin/release: packages for amd64 and arm64, source, list of modules, checksums
	@OUT=$(abspath $(RELEASE_DIR)) ARCHS='$(ARCHS)' VERSION='$(VERSION)' SBOM='$(SBOM)' packaging/release
