# Developer commands by name. `make` lists them.

CARGO ?= cargo
# Cases of each property and of each fuzz target in `make fuzz`.
FUZZ_CASES ?= 5000
# Frames of each test in `make fuzz-dataplane`; 10 us to 1 ms each.
FRAMES ?= 1000000
# Random networks in `make verify-long`; about 2 ms each.
VERIFY_CASES ?= 1000000
# Random networks with packets of all kinds of contracts in `make verify-long`; about 4 s each.
FABRIC_PACKETS ?= 1000
# Histories in `make churn-long`; about 10 ms each.
CHURNS ?= 10000
# Transfers and losses in `make transport-long`.
TRANSFERS ?= 100000
LOSSES ?= 20000
# Random workloads in `make forward-long`; about a second each.
FORWARD ?= 2000
# Random networks in `make ufab-long`; about 100 ms each.
UFAB ?= 1000
# Random divisions in `make scc-long`; about a second each.
SCC ?= 1000
# Folder and version of the mdbook that `make docs-site` installs.
MDBOOK ?= target/tools
MDBOOK_VERSION = 0.5.4
# Folder of the Python environments of `make ns3` and `make python`, and the Python that creates them.
NS3 ?= target/ns3
PYTHON_VENV ?= target/python
PYTHON ?= python3
# The profile of the wheel in `make python`: `dev` builds faster, and runs slower.
PYTHON_PROFILE ?= release
# Multiple of the usual length, or `all`, in `make break-ledger`.
BREAKING ?= 40
# Restarts of the server in `make break-server`, and servers that get 500 requests each.
CYCLES ?= 10000
SERVERS ?= 500
# Seeded worlds and fail-overs of real processes in `make cluster`.
WORLDS ?= 10000
# Histories of one controller in `make histories-long`.
HISTORIES ?= 10000
FAIL_OVERS ?= 100
# Multiple of the usual length in `make attack-server`.
ATTACK ?= 20
# Other goals that `make test` runs while tests wait.
MEANWHILE ?=
# The folder of `make try-topologies`, and options for values that its files lack.
DIR ?=
IMPORT ?= --default-rate 10Gbit --default-delay 1ms --delay-from-coordinates
# The command of another build, with which `make seeds` compares; without it, hashes are printed.
OLD ?=
# Arguments of the command: make bench ARGS="k4-q8-noreroute k12-q4-noreroute".
ARGS ?=
# Figures of `make reproduce`, and the folder of their results; existing figures are kept, so several runs complete one document.
FIGURES ?= all
RESULTS ?= wayleave-reproduce
# The folder of completed runs of `make ufab-fig17-512`, and their commit: pass both to resume after an interruption.
RUNS ?= wayleave-runs
COMMIT ?= $(shell git describe --always --dirty)
# The folder of `make release`.
DIST ?= target/dist
# Features of the command: make build FEATURES=png.
FEATURES ?=

WAYLEAVE = target/release/wayleave
ifdef CARGO_TARGET_DIR
WAYLEAVE = $(CARGO_TARGET_DIR)/release/wayleave
endif

# Modules of schemes are declared by a macro, where cargo fmt does not look for files.
SCHEMES = $(wildcard crates/admission/schemes/src/*/*/mod.rs)

say = @printf '\n== %s\n' "$(1)"

.DEFAULT_GOAL := help
.PHONY: help demo build release try-release test format fmt lint docs smoke bench bench-sim seeds reproduce ufab-fig17-512 reproduction repro fuzz fuzz-dataplane verify-long churn-long histories-long transport-long forward-long cluster ufab-long scc-long ns3 ns3-speed python break-ledger break-server attack-server quiet-lab docs-site \
	tcp try-topologies bpf ui ui-packages ui-test toolchain components tools

help: ## list these targets
	@printf 'Wayleave: contracts that a shared network can keep.\n\n'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nStart with: make demo\n'

demo: build ## build, then run `wayleave demo`: no root, no network after the build
	$(call say,wayleave demo)
	@$(WAYLEAVE) demo $(ARGS)

release: build ## build the release files in DIST: archive, Debian package, wheels of `make python`, pages of figures in RESULTS, checksums
	$(call say,release in $(DIST))
	@packaging/release '$(WAYLEAVE)' '$(DIST)' '$(RESULTS)/figures'

try-release: release ## install that Debian package in an otherwise empty system, and use it there (root; debootstrap)
	$(call say,$(DIST) in a system of its own)
	@packaging/try-release '$(DIST)'

build: toolchain ## build the release binary (FEATURES=png for pictures as PNG)
	$(call say,building $(WAYLEAVE))
	@$(CARGO) build --locked --release --package wayleave-cli --features '$(FEATURES)'

# Formatting is checked first, since it takes a second. Lints and documentation run beside the tests, which leave processors idle for minutes. A
# recipe that names MAKE itself would run under `make -n`, too.
again = $(MAKE)
test: format toolchain ## install the requirements of the tests, and run them beside lints and documentation
	$(call say,tests: unit$(comma) integration$(comma) documentation)
	@CARGO='$(CARGO)' WAYLEAVE_INSTALL='$(again) tools' WAYLEAVE_MEANWHILE='$(again) -j2 --output-sync docs $(MEANWHILE)' .ci/tests
	$(call say,all of it passed)

format: components
	$(call say,formatting)
	@$(CARGO) fmt --all --check
	@rustfmt --check --edition 2024 $(SCHEMES)

fmt: components ## format everything, schemes included
	@$(CARGO) fmt --all
	@rustfmt --edition 2024 $(SCHEMES)

# Goals are in order even under `make -j`: they share one target directory, and cargo locks it. Without PNG pictures one library differs;
# `--examples` keeps the features of all other crates, so they are not checked again.
lint: components | format
	$(call say,lints)
	@$(CARGO) clippy --locked --workspace --all-targets --features wayleave-cli/png -- -D warnings
	@$(CARGO) clippy --locked --workspace --lib --examples -- -D warnings

docs: components | lint
	$(call say,documentation of the code)
	@RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --locked --workspace --no-deps

docs-site: $(MDBOOK)/bin/mdbook ## build all documents as one site with search, in target/docs-site (installs mdbook the first time: minutes)
	$(call say,target/docs-site)
	@tools/docs-site/build '$(MDBOOK)/bin/mdbook' target/docs-site
	@printf 'open target/docs-site/index.html\n'

$(MDBOOK)/bin/mdbook: | toolchain
	$(call say,mdbook $(MDBOOK_VERSION) in $(MDBOOK))
	@$(CARGO) install --locked --no-default-features --features search --root '$(MDBOOK)' mdbook@$(MDBOOK_VERSION)

smoke: ## run the examples of the documents with the binary of the tests (seconds)
	$(call say,examples)
	@.ci/smoke

bench: build ## measure decision times and admitted flows, one JSON object a line
	$(call say,wayleave bench admission)
	@$(WAYLEAVE) bench admission $(ARGS)

reproduce: build ## measure the figures of the publications again, into RESULTS (FIGURES, ARGS="--quick"; RESULTS)
	$(call say,wayleave reproduce $(FIGURES))
	@$(WAYLEAVE) reproduce $(FIGURES) --out '$(RESULTS)' --commit '$(COMMIT)' $(ARGS)

ufab-fig17-512: build ## measure uFAB's Fig. 17 with the text's 512 servers; hours, resumes after an interruption (RUNS, COMMIT, RESULTS, ARGS)
	$(call say,wayleave reproduce ufab-fig17 --servers 512 --resume $(RUNS))
	@$(WAYLEAVE) reproduce ufab-fig17 --servers 512 --resume '$(RUNS)' --out '$(RESULTS)-512' --commit '$(COMMIT)' --progress $(ARGS)

reproduction: build ## write docs/papers and a page for each figure from the results of `make reproduce`; figures without results stay unchanged (RESULTS)
	$(call say,docs/papers and $(RESULTS)/figures from $(RESULTS))
	@$(WAYLEAVE) reproduce document '$(RESULTS)' --out '$(RESULTS)/figures' --papers docs/papers

bench-sim: build ## measure the packet rate of the simulator, one JSON object a line
	$(call say,wayleave bench sim)
	@$(WAYLEAVE) bench sim $(ARGS)

seeds: build ## compare all results of docs/examples, five seeds each, with those of another build (OLD: its command; a minute or two)
	$(call say,scenarios of docs/examples$(comma) five seeds each)
	@.ci/seeds '$(WAYLEAVE)' '$(OLD)'

repro: build ## run the findings of an audit again: exit codes and relevant lines (seconds)
	$(call say,files of an audit)
	@.ci/repro $(WAYLEAVE)

fuzz: toolchain ## run the properties and the fuzz targets at length (FUZZ_CASES)
	$(call say,properties and fuzz targets with $(FUZZ_CASES) cases)
	@PROPTEST_CASES=$(FUZZ_CASES) $(CARGO) test --locked --workspace --release --tests

fuzz-dataplane: toolchain ## compare the eBPF programs with their models, a million frames each (root; FRAMES)
	$(call say,$(FRAMES) frames a test)
	@WAYLEAVE_FRAMES=$(FRAMES) $(CARGO) test --locked --release --package wayleave-dataplane --test dataplane differential::

verify-long: toolchain ## attack a million random networks, and derive shares of every kind again on a million (VERIFY_CASES)
	$(call say,$(VERIFY_CASES) random networks with minima and objectives)
	@FABRIC_SCENES=$(VERIFY_CASES) $(CARGO) test --locked --release --package wayleave --test facade random_fabrics:: -- --nocapture
	@FABRIC_PACKETS=$(FABRIC_PACKETS) $(CARGO) test --locked --release --package wayleave --test facade random_packets:: -- --nocapture
	@SCALES=all $(CARGO) test --locked --release --package wayleave --test facade scales:: -- --nocapture
	@SHARE_SCENES=$(VERIFY_CASES) $(CARGO) test --locked --release --package wayleave-recheck --test claims shares::random::
	$(call say,$(VERIFY_CASES) random networks under attack)
	@VERIFY_CASES=$(VERIFY_CASES) $(CARGO) test --locked --release --package wayleave-adversary --test attacks random_sets::

churn-long: toolchain ## run 10,000 random histories with rerouting: no link is ever overbooked (CHURNS)
	$(call say,$(CHURNS) histories)
	@WAYLEAVE_CHURNS=$(CHURNS) $(CARGO) test --locked --release --package wayleave --test facade churn:: -- --nocapture

histories-long: toolchain ## run 10,000 random histories of a controller, its agents and a failing disk: every promise is kept (HISTORIES)
	$(call say,$(HISTORIES) histories)
	@WAYLEAVE_WORLD_SEEDS=$(HISTORIES) $(CARGO) test --locked --release --package wayleave-controller --test controller world:: -- --nocapture

transport-long: toolchain ## run 100,000 transfers with double and triple losses, and windows over 20,000 losses (TRANSFERS, LOSSES)
	$(call say,$(TRANSFERS) transfers$(comma) $(LOSSES) losses)
	@WAYLEAVE_TRANSFERS=$(TRANSFERS) WAYLEAVE_LOSSES=$(LOSSES) $(CARGO) test --locked --release --package wayleave-sim --lib transport:: -- --nocapture

forward-long: toolchain ## compare fast-forward with the full simulation on 2,000 random workloads (FORWARD)
	$(call say,$(FORWARD) workloads)
	@WAYLEAVE_FORWARD=$(FORWARD) $(CARGO) test --locked --release --package wayleave-sim --test forward -- --nocapture

ufab-long: toolchain ## test uFAB on a thousand random networks and histories: max-min shares, bounded queues, failures, false positives (UFAB)
	$(call say,$(UFAB) random networks)
	@WAYLEAVE_UFAB=$(UFAB) $(CARGO) test --locked --release --package wayleave-sim --test sim truth::ufab -- --nocapture

scc-long: toolchain ## test SCC with a thousand random sets of divisions: shares by weights, no losses or reordering in queues (SCC)
	$(call say,$(SCC) sets of divisions)
	@WAYLEAVE_SCC=$(SCC) $(CARGO) test --locked --release --package wayleave-sim --test sim truth::scc -- --nocapture

ns3: build $(NS3)/ready ## compare dumbbells in ns-3 and Wayleave, as a table (a wheel of 100 MB; minutes; CASES)
	$(call say,wayleave sim and ns-3 side by side)
	@$(NS3)/bin/python tools/ns3/compare.py '$(abspath $(WAYLEAVE))' $(CASES)

ns3-speed: build $(NS3)/ready ## compare packet-hops per processor second of ns-3 and Wayleave (an idle machine; 4 minutes)
	$(call say,the fat tree of k4-cbr and k4-dctcp in ns-3 and here)
	@for case in k4-cbr k4-dctcp k4-cbr k4-dctcp k4-newreno; do \
		$(NS3)/bin/python tools/ns3/speed.py $$case 2>$(NS3)/speed.log || { cat $(NS3)/speed.log >&2; exit 1; }; \
		[ $$case = k4-newreno ] || $(WAYLEAVE) bench sim $$case | grep hops_per_cpu_s; \
	done

$(NS3)/ready:
	@$(PYTHON) -m venv $(NS3)
	@$(NS3)/bin/pip install --quiet ns3==3.44.post0
	@touch $@

python: toolchain components $(PYTHON_VENV)/ready ## build and test the Python package: wheel, lints, types, tests, notebooks (Python 3.11, its packages; minutes; PYTHON, PYTHON_PROFILE)
	@NS3_PYTHON='$(abspath $(NS3))/bin/python' CARGO='$(CARGO)' PROFILE='$(PYTHON_PROFILE)' python/check '$(PYTHON_VENV)'

$(PYTHON_VENV)/ready: python/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		printf '%s\n' 'make python needs Python 3.11 or later, and $(PYTHON) is missing or older; another one: make python PYTHON=python3.12'; \
		exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		printf '%s\n' '$(PYTHON) cannot make an environment of its own: its module venv or ensurepip is missing (on Debian: apt-get install python3-venv)'; \
		exit 1; } >&2
	$(call say,packages for the tests of the Python package)
	@$(PYTHON) -m venv '$(PYTHON_VENV)'
	@'$(PYTHON_VENV)'/bin/pip install --quiet --disable-pip-version-check --requirement python/requirements.txt || { \
		printf '%s\n' 'pip could not install what stands in python/requirements.txt: it needs PyPI or a mirror (pip config set global.index-url URL)'; \
		exit 1; } >&2
	@touch $@

break-ledger: toolchain ## kill, cut the power of and damage the ledger on disk at length (BREAKING)
	$(call say,$(BREAKING) times as many kills$(comma) power cuts and cases of damage as usual)
	@WAYLEAVE_BREAKING=$(BREAKING) $(CARGO) test --locked --package wayleave-store --test store breaking:: -- --nocapture

break-server: toolchain ## kill `wayleave serve` at length, and send it requests that its document allows and forbids (CYCLES, SERVERS)
	$(call say,$(CYCLES) lives of a ledger)
	@WAYLEAVE_CYCLES=$(CYCLES) $(CARGO) test --locked --package wayleave-cli --test cli crash:: -- --nocapture
	$(call say,$(SERVERS) servers with 500 generated requests each)
	@WAYLEAVE_SERVERS=$(SERVERS) $(CARGO) test --locked --package wayleave-server --test server openapi_fuzz:: -- --nocapture

attack-server: toolchain ## attack a server in the test process with hostile clients, at length (ATTACK)
	$(call say,attacks$(comma) $(ATTACK) times as long as usual)
	@WAYLEAVE_ATTACK=$(ATTACK) $(CARGO) test --locked --release --package wayleave-server --test server attack:: -- --nocapture

quiet-lab: toolchain ## test claims about times with real packets; on an idle machine (root)
	$(call say,bounds of real packets)
	@WAYLEAVE_QUIET=1 $(CARGO) test --locked --package wayleave-dataplane --test dataplane priorities:: -- --test-threads 1
	@WAYLEAVE_QUIET=1 $(CARGO) test --locked --package wayleave-lab --test lab -- --test-threads 1
	@WAYLEAVE_QUIET=1 $(CARGO) test --locked --package wayleave-cli --test lab

cluster: toolchain ## test fail-overs of three controllers on etcd, and seeded worlds of them, at length (FAIL_OVERS, WORLDS)
	$(call say,$(WORLDS) worlds$(comma) then $(FAIL_OVERS) fail-overs)
	@WAYLEAVE_WORLDS=$(WORLDS) $(CARGO) test --locked --release --package wayleave-replica -- --nocapture
	@WAYLEAVE_CYCLES=$(FAIL_OVERS) $(CARGO) test --locked --package wayleave-cli --test cluster -- --nocapture

tcp: toolchain ## measure TCP inside a contract of 300 Mbit/s; on an idle machine (root)
	$(call say,TCP in contracts)
	@WAYLEAVE_QUIET=1 $(CARGO) test --locked --package wayleave-dataplane --test dataplane holding::tcp -- --test-threads 1 --nocapture

try-topologies: build ## plan and verify random requests on every network file of a folder (DIR, IMPORT)
	@[ -n "$(DIR)" ] || { printf 'make try-topologies DIR=FOLDER names a folder with .gml, .graphml, .json or .clab.yml files\n' >&2; exit 1; }
	@.ci/try-topologies "$(WAYLEAVE)" "$(DIR)" $(IMPORT)

bpf: ## compile the eBPF programs (clang; the objects are in the repository)
	$(call say,crates/linux/dataplane/bpf)
	@crates/linux/dataplane/bpf/compile

ui: ui-packages ## rebuild the dashboard (node, npm; the built files are in the repository)
	$(call say,crates/control/server/ui)
	@cd ui && npm run --silent types && npm run --silent build

ui-test: ui-packages tools ## test the dashboard in Chromium: all pages, then 100,000 contracts (minutes; PICTURES)
	$(call say,building the command)
	@$(CARGO) build --locked --release --package wayleave-cli
	$(call say,the dashboard in Chromium)
	@node ui/test/run.mjs $(WAYLEAVE) --all
	@node ui/test/run.mjs $(WAYLEAVE) --many

ui-packages:
	@cd ui && npm ci --silent --no-audit --no-fund

toolchain:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
		printf 'cargo is not here. Wayleave needs a Rust toolchain; https://rustup.rs installs one:\n\n'; \
		printf '  curl --proto =https --tlsv1.2 -sSf https://sh.rustup.rs | sh\n\n'; \
		printf 'If it is installed already, open a new shell or run: . "$$HOME/.cargo/env"\n'; \
		exit 1; } >&2
	@need=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); have=$$($(CARGO) --version | cut -d ' ' -f 2); \
	[ "$$(printf '%s\n%s\n' "$$need" "$$have" | sort -V | head -n 1)" = "$$need" ] || { \
		printf 'Rust %s is here, and Wayleave needs %s: run rustup update stable\n' "$$have" "$$need"; exit 1; } >&2

components: toolchain
	@$(CARGO) fmt --version >/dev/null 2>&1 || $(call install,rustfmt)
	@$(CARGO) clippy --version >/dev/null 2>&1 || $(call install,clippy)

# Programs that tests with real packets or with a browser call. Without them these tests are left out, and `make test` reports it at its
# end. Open vSwitch and etcd are installed only where systemd would not start them.
PROGRAMS = $(if $(shell command -v ovs-vswitchd)$(wildcard /run/systemd/system),,openvswitch-switch) $(if $(shell command -v etcd)$(wildcard /run/systemd/system),,etcd-server) $(if $(shell command -v ethtool),,ethtool iproute2) $(if $(shell command -v chromium chromium-browser google-chrome),,$(if $(shell command -v node),chromium))

tools:
	@[ "$$(id -u)" != 0 ] || [ -z "$(strip $(PROGRAMS))" ] || ! command -v apt-get >/dev/null 2>&1 || { \
		printf '\n== installing $(strip $(PROGRAMS))\n'; \
		{ apt-get -qq -o Acquire::Retries=3 update && \
			DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $(PROGRAMS); } >/dev/null 2>&1; } \
		|| printf '$(strip $(PROGRAMS)) could not be installed: tests that need it are left out\n' >&2
	@[ -d ui/node_modules ] || ! command -v npm >/dev/null 2>&1 || { \
		printf '\n== installing the packages of the dashboard\n'; \
		timeout 120 npm --prefix ui ci --silent --no-audit --no-fund >/dev/null 2>&1; } \
		|| { rm -rf ui/node_modules; printf 'npm could not install them: tests of the dashboard are left out\n' >&2; }

install = { printf '\n== installing $(1)\n'; rustup component add $(1); } || { \
	printf '$(1) is missing and rustup could not install it: the package of your Rust may be called $(1)\n' >&2; exit 1; }

comma := ,
