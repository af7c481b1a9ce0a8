# Everything that is done to this tree, by people and by .ci/run. `make` alone lists it.

GO ?= go
T ?= 30s
SEED ?= 0
N ?= 10000
DESTDIR ?=

# Program that `install` installs: as it is if it is given (make install BINARY=path), else built first.
BINARY ?= bin/pmdaderived

# In a tree that git does not trust (another user's) go would fail to stamp programs with the commit.
VCS := $(if $(shell git rev-parse HEAD 2>/dev/null),,-buildvcs=false)
ifdef VCS
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) $(VCS)) # for tests that build, too
endif

PCP_CONF ?= /etc/pcp.conf
pcp = $(or $(shell sed -n 's/^$(1)=//p' $(PCP_CONF) 2>/dev/null),$(2))

# How long the tests of one package may take: the ten minutes that go gives them are too few on a machine with other work.
TIMEOUT = -timeout 30m

# The race detector needs a C compiler, the rest does not.
RACE = $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race)
PACKAGES = $(shell $(GO) list $(VCS) ./... | grep -v '/test\(/\|$$\)')
SCRIPTS = Install Remove Upgrade pmda/examples/dice/Install pmda/examples/dice/Remove .ci/run $(wildcard scripts/*) packaging/build packaging/release $(wildcard packaging/*install packaging/*remove)

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

.PHONY: build
build: go ## build the agent: bin/pmdaderived, static
	$(BUILD) -o bin/pmdaderived ./cmd/pmdaderived

bin/private-pmcd: go FORCE
	@CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./test/pmcdtest/cmd/private-pmcd

.PHONY: FORCE
FORCE:

.PHONY: pcp
pcp: ## install PCP if it is missing (Debian, as root)
	@scripts/install-pcp

.PHONY: pcp-demo
pcp-demo:
	@scripts/install-pcp -demo

.PHONY: demo
demo: go pcp-demo build bin/private-pmcd ## show the agent live, on a private pmcd
	@[ "$$(id -u)" -ne 0 ] || chown -R --reference=. bin # root was needed for PCP only: others go on
	@BINARY=bin/pmdaderived scripts/demo

.PHONY: test
test: go ## run all tests (installs PCP, groff and mandoc if they are missing)
	@scripts/install-pcp -test
	$(strip $(GO) test -tags pcp $(RACE) $(TIMEOUT) $(GOTESTFLAGS)) -skip '^Test(Install|Fleet)' ./...
	@$(MAKE) --no-print-directory test-install check-fleet

.PHONY: suite
suite: go ## run make demo and make test on a new machine with another Debian suite (as root; 10 min): make suite SUITE=sid
	@GO='$(GO)' scripts/suite $(SUITE)

SUITES = bookworm trixie sid

.PHONY: suites
suites: go ## the same in all supported suites
	@failed=; for suite in $(SUITES); do GO='$(GO)' scripts/suite $$suite || failed="$$failed $$suite (exit status $$?)"; done; \
	[ -z "$$failed" ] || { echo "these suites failed:$$failed; scripts/suite has the meaning of each exit status"; exit 1; }

.PHONY: conformance
conformance: go pcp ## compare with recorded answers of libpcp, and print a table
	@$(GO) test -tags pcp -json -count=1 -run '^(TestCorpus|TestConformance|TestDocumentListsDifferences|TestConverterTable|TestExtraUnits|TestParseUnitsAnswersAsLibpcp|TestUnitsPrintAsLibpcp)$$' \
		./pdu ./config ./derived ./derived/syntax ./test ./test/conformance | $(GO) run ./test/conformance/cmd/conformance-table

.PHONY: oracle
oracle: go pcp ## compare random expressions with libpcp: make oracle T=10m [SEED=n]
	$(GO) test -tags pcp -count=1 -v -timeout 0 -run '^TestOracle$$' ./test -args -oracle $(T) -oracle-seed $(SEED)

.PHONY: reloads
reloads: go pcp ## reload definitions N times under load: make reloads N=10000 [SEED=n]
	$(GO) test -count=1 -v -timeout 0 -run '^TestReloadsUnderLoad$$' ./internal/agent -args -reloads $(N) -reload-seed $(SEED)
	$(GO) test -count=1 -v -timeout 0 -tags pcp -run '^TestReloads$$' ./test -args -reloads $(N) -reload-seed $(SEED)

.PHONY: windows
windows: go pcp ## test functions over time with several tools at once: make windows T=10m
	T=$(if $(filter file,$(origin T)),10m,$(T)) $(GO) test -count=1 -v -timeout 0 -tags pcp -run '^TestEachClientSeesItsPeaks$$' ./test

.PHONY: archives
archives: go pcp ## compare all archives below a folder with what libpcp reads (needs a C compiler and libpcp's headers): make archives DIR=folder
	$(GO) test -count=1 -v -timeout 0 -tags archives -run '^TestArchives$$' ./pmda/pmapi/archive -args -archives $(abspath $(DIR))

.PHONY: unit
unit: go ## run the tests that need no PCP (about a minute)
	$(strip $(GO) test $(GOTESTFLAGS)) $(PACKAGES)

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

.PHONY: lint
lint: go ## run golangci-lint (downloads the version in .golangci.yml)
	@wanted=$$(sed -n 's/^# golangci-lint v//p' .golangci.yml); \
	if golangci-lint version 2>/dev/null | grep -q "version $$wanted "; then golangci-lint run; \
	else $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$$wanted run; fi

GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.1.4

.PHONY: vulns
vulns: go ## look for known vulnerabilities (downloads a tool and Go's database)
	$(GO) run $(GOVULNCHECK) ./...

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
	$(strip $(GO) test -run '^$$' -bench . -benchmem $(BENCHFLAGS)) $(PACKAGES)

.PHONY: soak
soak: go pcp build bin/rig ## check every value under load and faults: make soak [T=10m] [SEED=n]
	@bin/rig soak $(BENCH_TIME) $(if $(filter file,$(origin SEED)),,-seed $(SEED)) bin/pmdaderived

.PHONY: cover
cover: go pcp ## measure test coverage: cover.out, and a summary
	$(GO) test -tags pcp $(TIMEOUT) -coverprofile cover.out -coverpkg ./pdu/...,./pmda/...,./derived/...,./config/...,./cmd/... ./...
	$(GO) tool cover -func cover.out | tail -n 1

.PHONY: root
root:
	@[ "$$(id -u)" -eq 0 ] || { echo "only root can install an agent: run this as root" >&2; exit 1; }

.PHONY: check-install
check-install: go root test-install ## test pmns, help, domain.h, Install, Remove and the Debian package (as root)

# Without root the tests of the text alone. Most of their time PCP's scripts wait, so many of them run at once.
.PHONY: test-install
test-install: go
	@scripts/install-pcp -fleet # pmseries needs a server
	PMDADERIVED_INSTALL_HERE=1 $(strip $(GO) test -tags pcp -parallel 8 $(GOTESTFLAGS)) -run '^TestInstall' ./test

.PHONY: check-rpm
check-rpm: go root ## test the RPM package on a copy of this machine (as root; installs rpm)
	@scripts/install-pcp -rpm
	PMDADERIVED_INSTALL_HERE=1 $(strip $(GO) test $(GOTESTFLAGS)) -tags pcp,rpm -run '^TestInstallRPM' ./test

.PHONY: check-dashboards
check-dashboards: ## check the dashboards against Grafana's types (needs npm)
	@scripts/check-dashboards

.PHONY: check-desktop
check-desktop: build bin/private-pmcd ## draw pmchart's views on a virtual display, pictures in bin/desktop (installs pcp-gui, xvfb)
	@scripts/install-pcp -desktop
	@BINARY=bin/pmdaderived scripts/check-desktop bin/desktop

.PHONY: check-browser
check-browser: build bin/private-pmcd ## look at Prometheus' graph page in Chromium: picture in bin/browser (installs prometheus, chromium)
	@scripts/install-pcp -browser
	@BINARY=bin/pmdaderived scripts/check-browser bin/browser

.PHONY: check-fleet
check-fleet: go ## test three hosts, pmproxy and Redis, and print all values (installs redis-tools)
	@scripts/install-pcp -fleet
	$(strip $(GO) test -tags pcp -count=1 -v $(filter-out -count=1 -v,$(GOTESTFLAGS))) -run '^TestFleet' ./test/fleet

# Where PCP keeps things; the second value is Debian's, for a build host without PCP.
pmda_dir = $(DESTDIR)$(call pcp,PCP_PMDAS_DIR,/var/lib/pcp/pmdas)/derived
site_dir = $(DESTDIR)$(call pcp,PCP_SYSCONF_DIR,/etc/pcp)/pmdaderived
config_dir = $(DESTDIR)$(call pcp,PCP_VAR_DIR,/var/lib/pcp)/config
pmrep_dir = $(DESTDIR)$(call pcp,PCP_SYSCONF_DIR,/etc/pcp)/pmrep
share_dir = $(DESTDIR)/usr/share
bin_dir = $(DESTDIR)$(call pcp,PCP_BIN_DIR,/usr/bin)
man_dir = $(DESTDIR)$(call pcp,PCP_MAN_DIR,/usr/share/man)
man_page = $(man_dir)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
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
	install -m 755 Install Remove Upgrade $(pmda_dir)
	install -m 644 pmns root domain.h help $(pmda_dir)
	ln -sf $(patsubst $(DESTDIR)%,%,$(pmda_dir))/pmdaderived $(bin_dir)/pmdaderived
	rm -rf $(own_config)
	install -D -m 644 -t $(config_dir)/pmdaderived conf/*.conf
	install -D -m 644 -t $(share_dir)/pmdaderived/optional optional/*.conf
	install -D -m 644 -t $(config_dir)/pmlogconf/derived integration/pmlogconf/*
	install -D -m 644 -t $(config_dir)/pmieconf/derived integration/pmieconf/*
	install -D -m 644 -t $(config_dir)/pmchart integration/pmchart/*
	install -D -m 644 -t $(pmrep_dir) integration/pmrep/derived.conf
	install -D -m 644 -t $(share_dir)/pmdaderived/dashboards integration/grafana/*.json
	install -D -m 644 integration/completion/pmdaderived.bash $(share_dir)/bash-completion/completions/pmdaderived
	install -D -m 644 -t $(share_dir)/zsh/site-functions integration/completion/_pmdaderived
	$(foreach page,$(wildcard docs/*.[1-9]),install -D -m 644 $(page) $(call man_page,$(page)) &&) true
	@[ -n "$(DESTDIR)" ] || echo "next: $(pmda_dir)/Install"

.PHONY: uninstall
uninstall: ## remove installed files (run Remove first); PURGE=yes: also definitions, metric identifiers and logs
	@$(check_destdir)$(check_purge)
	@[ -n "$(DESTDIR)" ] || ! grep -q '^derived[[:space:]]' $(pmcd_conf) 2>/dev/null || \
		{ echo "pmcd still runs the agent: run $(pmda_dir)/Remove first"; exit 1; }
	rm -rf $(pmda_dir) $(own_config) $(share_dir)/pmdaderived
	rm -f $(patsubst integration/pmchart/%,$(config_dir)/pmchart/%,$(wildcard integration/pmchart/*)) $(pmrep_dir)/derived.conf
	rm -f $(share_dir)/bash-completion/completions/pmdaderived $(share_dir)/zsh/site-functions/_pmdaderived
	rm -f $(bin_dir)/pmdaderived $(foreach page,pmdaderived.1 pmdaderived.5,$(call man_page,$(page)))
	@rmdir $(site_dir) 2>/dev/null || true
	@kept=$$(ls -d $(kept) 2>/dev/null) || true; \
	if [ -z "$$kept" ]; then :; \
	elif [ -n "$(filter yes,$(PURGE))" ]; then rm -rf $$kept && printf '%s\n' 'and with definitions, metric identifiers and logs:' $$kept; \
	else \
		printf '%s\n' 'definitions, metric identifiers and logs are left; make uninstall PURGE=yes removes these, too:' $$kept; \
	fi

# nfpm makes packages of both kinds. From 2.46 on it needs modules that not every proxy has.
NFPM = env -u GOARCH -u GOOS $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
PACKAGES_DIR = bin/packages
# Who publishes packages gives an address of their own: make packages MAINTAINER='NAME <ADDRESS>'.
MAINTAINER ?= pmdaderived authors
# Likewise the address of the project: make packages URL=https://…. This one is that of the project that this extends.
URL = https://pcp.io

# PCP_CONF: a package has the paths of PCP's packages, wherever it is made.
.PHONY: packages
packages: LDFLAGS = -s -w # traces have names and lines even so
packages: go ## make bin/packages/*.deb and *.rpm (two minutes the first time): make packages [VERSION=1.2.0] [GOARCH=arm64]
	@rm -rf $(PACKAGES_DIR)/root $(PACKAGES_DIR)/program $(PACKAGES_DIR)/pmdaderived[_-]*
	$(BUILD) -o $(PACKAGES_DIR)/program/pmdaderived ./cmd/pmdaderived
	@$(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(PACKAGES_DIR))/root PCP_CONF=/dev/null \
		BINARY=$(PACKAGES_DIR)/program/pmdaderived
	@STAGE=$(abspath $(PACKAGES_DIR))/root OUT=$(PACKAGES_DIR) VERSION='$(VERSION)' ARCH=$(or $(GOARCH),$(shell $(GO) env GOARCH)) \
		MAINTAINER='$(MAINTAINER)' URL='$(URL)' SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) GO='$(GO)' NFPM='$(NFPM)' packaging/build

# What a program is built from, as CycloneDX has it.
SBOM = env -u GOARCH -u GOOS $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
RELEASE_DIR = bin/release
ARCHS = amd64 arm64

.PHONY: release
release: go ## make bin/release: packages for amd64 and arm64, source, list of modules, checksums: make release [VERSION=1.2.0]
	@OUT=$(abspath $(RELEASE_DIR)) ARCHS='$(ARCHS)' VERSION='$(VERSION)' SBOM='$(SBOM)' packaging/release

FORMER_DIR = bin/former
ARCH = $(shell dpkg --print-architecture)

.PHONY: check-packages
check-packages: release ## install, upgrade, remove and purge the release's package on new machines (as root; 10 min): make check-packages [SUITE=sid] [VERSION=1.2.0]
	@$(MAKE) -s --no-print-directory packages VERSION=0.0.0~former PACKAGES_DIR=$(FORMER_DIR)
	@GO='$(GO)' scripts/check-packages $(FORMER_DIR)/pmdaderived_0.0.0~former-1_$(ARCH).deb \
		'$(RELEASE_DIR)/pmdaderived_$(VERSION)-1_$(ARCH).deb' $(or $(SUITE),$(SUITES))
