# make            build perfd, perfctl and libperfd       make run        run a demonstration, until Ctrl-C
# make check      install packages and run all tests      make lint       check layers, formatting, manuals
# make install    DESTDIR= PREFIX= and the *_DIR below    make bench      write the table of bench/RESULTS.md
# make deb        build Debian packages in build/deb
# make bench-regress   measure verdicts about changes, and their cost
# make bench-compare   measure the verdicts of perfctl compare
# make bench-pipelines  measure verdicts about planted data pipelines of SPDL
# make coverage   measure each module's coverage by its own unit tests (MODULES=daemon/jobs selects)
# make wheel           build the wheel of the Python modules in build/wheel
# make check-once      run the tests that need another installation or a registry
# make check-mutations  plant faults, and see that the tests find them (TESTS= selects)
# make check-arm64     build for arm64 and run the unit tests on an emulated processor (TESTS= selects)
# make check-hostile   try faults and hostile clients for HOSTILE_TIME= seconds
# make uninstall  remove what `make install` has installed, except the configuration
# make clean                                              make compile_commands.json
# make help       show this text
#
#   SANITIZE=address,undefined    instrumented build in its own directory
#   COVERAGE=1                    build for gcov in its own directory, see make coverage
#   CC=clang                      another compiler, in its own directory
#   YES=1                         install missing packages without asking
#
# Sources are found, not listed: a new file in a folder needs no edit here.

VERSION := $(shell cat VERSION)
comma   := ,
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
B       := build$(if $(filter-out gcc,$(CC)),-$(CC))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERAGE),-coverage)

OBJCOPY ?= objcopy

PREFIX       ?= /usr
SBIN_DIR     ?= $(PREFIX)/sbin
BIN_DIR      ?= $(PREFIX)/bin
LIBEXEC_DIR  ?= $(PREFIX)/libexec/perfd
LIB_DIR      ?= $(PREFIX)/lib
INCLUDE_DIR  ?= $(PREFIX)/include
MAN_DIR      ?= $(PREFIX)/share/man
DOC_DIR      ?= $(PREFIX)/share/doc/perfd
BASH_COMPLETION_DIR ?= $(PREFIX)/share/bash-completion/completions
SYSCONF_DIR  ?= /etc
UNIT_DIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERS_DIR ?= $(PREFIX)/lib/sysusers.d
TMPFILES_DIR ?= $(PREFIX)/lib/tmpfiles.d
UDEV_DIR     ?= $(PREFIX)/lib/udev/rules.d

# Use all processors, unless make was called with -j.
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# Without pkg-config there is nothing to build yet; `make deps` says what to install.
have_pkg_config := $(shell command -v pkg-config 2>/dev/null)
pkg      = $(if $(have_pkg_config),$(shell pkg-config $(1) $(2) 2>/dev/null))
CORE_PKGS   := libprotobuf-c yaml-0.1 nettle
DAEMON_PKGS := libsystemd libmicrohttpd sqlite3 inih zlib

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2 -Wconversion \
            -Wno-sign-conversion -Wpointer-arith -Wundef -Wwrite-strings
# gcc 10 warns of a member with an initialiser behind one of a macro.
ifeq ($(shell $(CC) -dumpversion 2>/dev/null),10)
WARNINGS += -Wno-missing-field-initializers
endif
# Reports of sanitizers need lines of the source. Otherwise -g takes a tenth of the time of a build.
CFLAGS   ?= -O2$(if $(SANITIZE)$(COVERAGE), -g)
# Flags that make an error in this code harder to exploit; `make lint` checks the programs for their effect.
HARDENING := -fstack-protector-strong -fstack-clash-protection \
            $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection=full)
# Shadow stacks need no support in the startup files of the C library. Branch tracking does: the linker marks it if they have it.
HARDENED  := -Wl,-z,relro,-z,now,-z,noexecstack$(if $(findstring -fcf,$(HARDENING)),$(comma)-z$(comma)shstk)
# The C library checks buffers only where the compiler optimises; sanitizers check more.
FORTIFY   := -U_FORTIFY_SOURCE $(if $(SANITIZE)$(COVERAGE),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-D_FORTIFY_SOURCE=3))
override CFLAGS   += -std=gnu17 $(WARNINGS) $(HARDENING) -fPIC -pthread -fvisibility=hidden -ffunction-sections -fdata-sections \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
            $(if $(COVERAGE),-O0 --coverage -fprofile-update=atomic -fprofile-abs-path)
override CPPFLAGS += -D_GNU_SOURCE -DPERFD_VERSION='"$(VERSION)"' -Ilib -Idaemon -I. -I$(B) \
            $(FORTIFY) -MMD -MP
override LDFLAGS  += -pthread -Wl,--gc-sections -Wl,--as-needed $(HARDENED) \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(if $(COVERAGE),--coverage)
CPPFLAGS += $(call pkg,--cflags,$(CORE_PKGS) $(DAEMON_PKGS))
CORE_LIBS   = $(call pkg,--libs,$(CORE_PKGS)) -lm
DAEMON_LIBS = $(call pkg,--libs,$(DAEMON_PKGS)) $(CORE_LIBS)
CLIENT_LIBS = $(CORE_LIBS) -ldl
NCURSES_LIBS = $(call pkg,--libs,ncursesw)

PROTO_C := $(B)/proto/perfd.pb-c.c
PROTO_H := $(B)/proto/perfd.pb-c.h

CORE_SRC   := $(wildcard lib/*/*.c proto/*.c)
DAEMON_SRC := $(filter-out daemon/main.c daemon/gpu/perfd_gpu.c,$(wildcard daemon/*.c daemon/*/*.c daemon/*/*/*.c))
WEB_FILES  := web/index.html $(filter-out web/report/%,$(wildcard web/*/*.js web/*/*.css web/*/*.svg web/vendor/*/*.js web/vendor/*/*.css))
CLIENT_SRC := $(wildcard client/*/*.c client/*/*/*.c)
# What goes into libperfd: the library itself and what it needs, which needs nothing else of the client.
LIB_SRC    := $(filter client/wire/%,$(CLIENT_SRC))

# Code that runs for requests only. Its objects are linked last, so that the code of each sample and scrape is contiguous and fewer pages
# of the program are resident.
REQUEST_SRC := $(filter-out $(wildcard daemon/http/*/metrics_*.c daemon/http/*/*_subject.c), \
                   $(foreach folder,indicators jobs kpis measure pipelines selection,$(wildcard daemon/http/$(folder)/*.c))) \
               $(foreach folder,analysis document job kpi pipeline stack value,$(wildcard lib/$(folder)/*.c))

CORE_OBJ   := $(CORE_SRC:%.c=$(B)/%.o) $(PROTO_C:.c=.o)
DAEMON_OBJ := $(DAEMON_SRC:%.c=$(B)/%.o) $(B)/daemon/http/web/web_files.o
CLIENT_OBJ := $(CLIENT_SRC:%.c=$(B)/%.o)
LIB_OBJ    := $(LIB_SRC:%.c=$(B)/%.o)
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
REQUEST_OBJ := $(REQUEST_SRC:%.c=$(B)/%.o) $(PROTO_C:.c=.o)
FUZZ_OBJ   := $(patsubst %.c,$(B)/%.o,$(wildcard tests/fuzz/fuzz_*.c))
EXAMPLES   := $(patsubst examples/indicators/%.c,$(B)/examples/%,$(wildcard examples/indicators/*.c)) $(B)/examples/loader
BENCHES    := $(patsubst %.c,$(B)/%,$(wildcard bench/*.c))

# Sanitizers need the dynamic C library.
PERFCTL_STATIC := $(if $(SANITIZE)$(COVERAGE),,$(B)/perfctl-static)

all: $(B)/perfd $(B)/perfd-gpu $(B)/perfctl $(B)/perfctl-results $(B)/perfctl-top $(PERFCTL_STATIC) $(B)/libperfd.so $(B)/libperfd.a $(B)/perfd.pc

$(B)/perfd: $(filter-out $(REQUEST_OBJ) $(B)/daemon/gpu/%,$(B)/daemon/main.o $(DAEMON_OBJ) $(CORE_OBJ)) $(REQUEST_OBJ)
	$(CC) $(CFLAGS) -pie $(LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

# The driver's library is loaded into a process of its own, which has nothing of perfd.
$(B)/perfd-gpu: $(B)/daemon/gpu/perfd_gpu.o $(patsubst %.c,$(B)/%.o,$(filter daemon/gpu/%,$(DAEMON_SRC))) $(B)/libcore.a
	$(CC) $(CFLAGS) -pie $(LDFLAGS) -o $@ $^ -lm -ldl

$(B)/perfctl: $(B)/client/perfctl.o $(B)/client/perfctl_commands.o $(B)/libclient.a $(B)/libcore.a
	$(CC) $(CFLAGS) -pie $(LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

# The program has a list of commands of its own.
$(B)/perfctl-results: $(B)/client/perfctl_results.o $(B)/client/perfctl.o $(B)/libclient.a $(B)/libcore.a
	$(CC) $(CFLAGS) -pie $(LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

$(B)/perfctl-top: $(B)/client/perfctl_top.o $(B)/libclient.a $(B)/libcore.a
	$(CC) $(CFLAGS) -pie $(LDFLAGS) -o $@ $^ $(CLIENT_LIBS) $(NCURSES_LIBS)

# perfctl for containers. Distributions without static libraries build and install the rest.
$(B)/perfctl-static: $(B)/client/perfctl_static.o $(B)/client/perfctl.o $(B)/client/perfctl_commands.o $(B)/libclient.a $(B)/libcore.a
	@$(CC) $(CFLAGS) $(LDFLAGS) -static-pie -o $@ $^ $(CLIENT_LIBS) 2>$@.log || { $(RM) $@; \
	        echo "$@ is not built: the C library, libyaml, nettle or protobuf-c has no static library, see $@.log" >&2; }

$(B)/libperfd.so.0: $(LIB_OBJ) $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libperfd.so.0 -Wl,--exclude-libs,ALL -o $@ $^ $(CLIENT_LIBS)

$(B)/libperfd.so: $(B)/libperfd.so.0
	ln -sf libperfd.so.0 $@

# Verdicts are for perfd and perfctl: with their texts, they would double the library.
VERDICT_OBJ := $(patsubst %,$(B)/lib/pipeline/%.o,pipeline_verdict pipeline_doubt pipeline_changes pipeline_set straggler)

# One object in which only the PERFD_API names are global, so that a static user cannot collide with our insides.
$(B)/libperfd.a: $(LIB_OBJ) $(filter-out $(B)/lib/text/% $(B)/lib/stack/% $(B)/lib/util/sha256.o $(VERDICT_OBJ),$(CORE_OBJ))
	$(RM) $@
	$(LD) -r -o $(B)/libperfd.o $^
	$(OBJCOPY) --localize-hidden $(B)/libperfd.o
	$(AR) rcs $@ $(B)/libperfd.o

# Made anew each time: it has PREFIX in it, which may be another for `make install`.
$(B)/perfd.pc: client/wire/perfd.pc.in VERSION always
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|g; s|@LIB_DIR@|$(LIB_DIR)|g; s|@INCLUDE_DIR@|$(INCLUDE_DIR)|g; s|@VERSION@|$(VERSION)|g' $< > $@

$(B)/libcore.a: $(CORE_OBJ)
$(B)/libdaemon.a: $(DAEMON_OBJ)
$(B)/libclient.a: $(CLIENT_OBJ)
$(B)/libcore.a $(B)/libdaemon.a $(B)/libclient.a:
	$(RM) $@ && $(AR) rcs $@ $^

# Newer versions of protoc-c print a warning that protoc is to be called, which older versions do not install.
$(PROTO_C) $(PROTO_H) &: proto/perfd.proto
	@mkdir -p $(@D)
	@log=$$(protoc-c --c_out=$(B) $< 2>&1) || { echo "$$log" >&2; exit 1; }

$(B)/%.o: %.c | $(PROTO_H)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The files of the web page, compressed and with their checksums.
$(B)/daemon/http/web/web_files.c: tools/embed $(WEB_FILES)
	@mkdir -p $(@D)
	@tools/embed $@ $(WEB_FILES)

# The report of a job as a page that is one file, without its data.
REPORT_PAGE := $(B)/client/report/job.html
REPORT_WEB  := web/report/job.js web/app/api.js=web/report/data.js web/vendor/uplot/LICENSE web/vendor/uplot/uPlot.iife.min.js \
               web/vendor/uplot/uPlot.min.css web/app/style.css web/report/report.css
$(REPORT_PAGE): tools/bundle $(wildcard web/app/*.js web/app/*.css web/figures/*.js web/report/*)
	@mkdir -p $(@D)
	@tools/bundle $@ "Report of a job" $(REPORT_WEB)
$(B)/client/report/report_html.o: CPPFLAGS += -DREPORT_PAGE='"$(REPORT_PAGE)"'
$(B)/client/report/report_html.o: $(REPORT_PAGE)

# The report of a directory of test results, likewise.
RESULTS_PAGE := $(B)/client/matrix/results.html
RESULTS_WEB  := web/report/results.js web/app/api.js=web/report/data.js web/app/style.css web/report/report.css
$(RESULTS_PAGE): tools/bundle $(wildcard web/app/*.js web/app/*.css web/figures/*.js web/report/*)
	@mkdir -p $(@D)
	@tools/bundle $@ "Report of test results" $(RESULTS_WEB)
$(B)/client/matrix/results_page.o: CPPFLAGS += -DRESULTS_PAGE='"$(RESULTS_PAGE)"'
$(B)/client/matrix/results_page.o: $(RESULTS_PAGE)

# Embeds the description of the JSON API.
$(B)/daemon/http/self/self_subject.o: web/openapi.json

# Generated code is held to the generator's standards, not ours.
$(B)/%.o: $(B)/%.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -w -c -o $@ $<

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/libclient.a $(B)/libdaemon.a $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(CLIENT_LIBS) $(DAEMON_LIBS) -lcmocka -ljansson

# They load the stand-in for the library of a GPU's driver.
NVML_STANDIN := $(B)/tests/nvml/libnvidia-ml.so.1
$(NVML_STANDIN): $(B)/tests/nvml/standin.o
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^ -lm
$(B)/tests/unit/test_gpu_set: $(NVML_STANDIN)

# It looks at the commands of perfctl.
$(B)/tests/unit/test_options: $(B)/client/perfctl_commands.o

$(B)/bench/%: $(B)/bench/%.o $(B)/libclient.a $(B)/libdaemon.a $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(CLIENT_LIBS) $(DAEMON_LIBS)

# Programs of their own: none of perfd is in them.
$(B)/examples/%: examples/indicators/%.c examples/indicators/example.h
	@mkdir -p $(@D)
	$(CC) -O2 $(WARNINGS) -D_GNU_SOURCE -o $@ $<

$(B)/examples/loader: examples/pipelines/loader.c examples/pipelines/stage_sums.h $(B)/libperfd.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iclient/wire -D_GNU_SOURCE $(LDFLAGS) -o $@ $(filter-out %.h,$^) $(CLIENT_LIBS)

# tests/fuzz/run builds these, with CC=clang and SANITIZE=address,undefined,fuzzer-no-link.
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/libclient.a $(B)/libdaemon.a $(B)/libcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^) $(CLIENT_LIBS) $(DAEMON_LIBS)

# --- packages ------------------------------------------------------------------------------------

deps:
	@tools/deps build
run-deps:
	@tools/deps build run
test-deps:
	@tools/deps build test
interop-deps:
	@tools/deps build test interop

# Builds in a copy of the tree, without this build.
deb:
	@tools/deps build deb
	@tools/deb

# pip builds in a copy, beside which it leaves files of its own.
wheel:
	@rm -rf $(B)/wheel && mkdir -p $(B)/wheel/source && cp clients/python/*.* $(B)/wheel/source
	@python3 -m pip wheel --quiet --no-deps --wheel-dir $(B)/wheel $(B)/wheel/source

# --- use -----------------------------------------------------------------------------------------

# Packages can change what pkg-config answers, so the build is its own make.
run: run-deps
	@tools/build $(MAKE) --no-print-directory $(parallel) all examples
	@tools/run $(B)

check: test-deps
	@tools/build $(MAKE) --no-print-directory $(parallel) all examples unit-tests
	@tests/run $(B) $(TESTS)

check-once: interop-deps
	@$(MAKE) --no-print-directory -s $(parallel) all examples $(NVML_STANDIN)
	@tests/run $(B) $(or $(TESTS),once.)

check-hostile: test-deps
	@$(MAKE) --no-print-directory -s all
	@tests/hostile/run $(B) $(TESTS)

# Fuzz targets are only compiled, so that they keep up with what they call.
unit-tests: $(UNIT_TESTS) $(FUZZ_OBJ) $(NVML_STANDIN)

# Uses the build that is there, with all programs of the tests that faults name.
check-arm64: test-deps
	@tests/arm64 $(TESTS)

check-mutations: test-deps
	@$(MAKE) --no-print-directory -s all
	@tests/mutations $(TESTS)

bench: deps
	@$(MAKE) --no-print-directory -s all benches
	@bench/run $(B)

bench-regress: deps
	@$(MAKE) --no-print-directory -s all $(B)/bench/verdicts
	@bench/regress.py $(B)

bench-compare: deps
	@$(MAKE) --no-print-directory -s all $(B)/bench/compared
	@bench/compare.py $(B)

bench-pipelines: deps
	@$(MAKE) --no-print-directory -s all
	@bench/pipelines.py $(B) $(PLANTS)

benches: $(BENCHES)

# With the stand-in of the system tests.
examples: $(EXAMPLES) $(NVML_STANDIN)

lint:
	@tests/lint

coverage: test-deps
	@tests/coverage $(MODULES)

compile_commands.json: Makefile
	@$(MAKE) --no-print-directory -nkB all unit-tests benches | tools/compile-commands > $@

install: all
	install -D -m 755 $(B)/perfd $(DESTDIR)$(SBIN_DIR)/perfd
	install -D -m 755 $(B)/perfctl $(DESTDIR)$(BIN_DIR)/perfctl
	install -D -m 755 $(B)/perfd-gpu $(DESTDIR)$(LIBEXEC_DIR)/perfd-gpu
	install -D -m 755 $(B)/perfctl-results $(DESTDIR)$(LIBEXEC_DIR)/perfctl-results
	install -D -m 755 $(B)/perfctl-top $(DESTDIR)$(LIBEXEC_DIR)/perfctl-top
	test ! -e $(B)/perfctl-static || install -D -m 755 $(B)/perfctl-static $(DESTDIR)$(BIN_DIR)/perfctl-static
	install -D -m 755 $(B)/libperfd.so.0 $(DESTDIR)$(LIB_DIR)/libperfd.so.0
	ln -sf libperfd.so.0 $(DESTDIR)$(LIB_DIR)/libperfd.so
	install -D -m 644 $(B)/libperfd.a $(DESTDIR)$(LIB_DIR)/libperfd.a
	install -D -m 644 $(B)/perfd.pc $(DESTDIR)$(LIB_DIR)/pkgconfig/perfd.pc
	install -D -m 644 client/wire/perfd.h $(DESTDIR)$(INCLUDE_DIR)/perfd.h
	install -D -m 644 proto/perfd.proto $(DESTDIR)$(PREFIX)/share/perfd/perfd.proto
	install -d -m 755 $(DESTDIR)$(PREFIX)/share/perfd/slurm
	for script in prolog epilog save_report epilog_slurmctld task_prolog task_epilog wrapper; do to=$(DESTDIR)$(PREFIX)/share/perfd/slurm/$$script; \
	        sed -e 's|/usr/bin/perfctl|$(BIN_DIR)/perfctl|; s|/usr/share/perfd|$(PREFIX)/share/perfd|' conf/slurm/$$script | install -m 755 /dev/stdin $$to || exit 1; done
	install -d -m 755 $(DESTDIR)$(PREFIX)/share/perfd/container
	for file in deploy/container/*.fstab deploy/container/*.conf; do to=$(DESTDIR)$(PREFIX)/share/perfd/container/$${file##*/}; \
	        sed -e 's|/usr/bin/perfctl-static|$(BIN_DIR)/perfctl-static|' $$file | install -m 644 /dev/stdin $$to || exit 1; done
	for module in clients/python/perfd_*.py; do \
	        install -D -m 644 $$module $(DESTDIR)$(PREFIX)/share/perfd/python/$${module##*/} || exit 1; done
	test -z "$(PYTHON_SITE_DIR)" || { echo $(PREFIX)/share/perfd/python; cat clients/python/perfd.pth; } | \
	        install -D -m 644 /dev/stdin $(DESTDIR)$(PYTHON_SITE_DIR)/perfd.pth
	install -D -m 644 client/perfctl.bash $(DESTDIR)$(BASH_COMPLETION_DIR)/perfctl
	test -e $(DESTDIR)$(SYSCONF_DIR)/perfd/perfd.conf || \
	        install -D -m 644 conf/perfd.conf $(DESTDIR)$(SYSCONF_DIR)/perfd/perfd.conf
	install -d -m 755 $(DESTDIR)$(SYSCONF_DIR)/perfd/perfd.conf.d $(DESTDIR)$(UNIT_DIR)
	for model in conf/indicators.d/*.yaml; do to=$(DESTDIR)$(SYSCONF_DIR)/perfd/indicators.d/$${model##*/}; \
	        test -e $$to || install -D -m 644 $$model $$to || exit 1; done
	for format in conf/formats.d/*.conf; do to=$(DESTDIR)$(SYSCONF_DIR)/perfd/formats.d/$${format##*/}; \
	        test -e $$to || install -D -m 644 $$format $$to || exit 1; done
	for unit in systemd/*.service systemd/*.socket systemd/*.path; do to=$(DESTDIR)$(UNIT_DIR)/$${unit##*/}; \
	        sed -e 's|/usr/sbin/|$(SBIN_DIR)/|g; s|/usr/bin/|$(BIN_DIR)/|g; s|/usr/libexec/perfd/|$(LIBEXEC_DIR)/|g' $$unit | install -m 644 /dev/stdin $$to || exit 1; done
	install -D -m 644 systemd/perfd.sysusers $(DESTDIR)$(SYSUSERS_DIR)/perfd.conf
	install -D -m 644 systemd/perfd.tmpfiles $(DESTDIR)$(TMPFILES_DIR)/perfd.conf
	install -D -m 644 systemd/perfd.rules $(DESTDIR)$(UDEV_DIR)/60-perfd.rules
	for page in man/*.[1-9]; do install -D -m 644 $$page $(DESTDIR)$(MAN_DIR)/man$${page##*.}/$${page##*/} || exit 1; done
	install -D -m 644 README.md $(DESTDIR)$(DOC_DIR)/README.md

# Removes the files that an installation into an empty directory has. Configuration, models and stored data are kept.
uninstall: all
	@staging=$$(mktemp -d) || exit 1; trap 'rm -rf "$$staging"' EXIT; \
	$(MAKE) --no-print-directory -s install DESTDIR="$$staging" || exit 1; \
	(cd "$$staging" && find . -path '.$(SYSCONF_DIR)' -prune -o ! -type d -print) | sed 's|^\.||' | \
	        while read -r file; do rm -fv "$(DESTDIR)$$file" || exit 1; done || exit 1; \
	rmdir --ignore-fail-on-non-empty $(addprefix $(DESTDIR),$(DOC_DIR) $(PREFIX)/share/perfd/slurm $(PREFIX)/share/perfd/container $(PREFIX)/share/perfd/python $(PREFIX)/share/perfd $(LIBEXEC_DIR)) 2>/dev/null || :

help:
	@sed '/^#/!q; s/^# \{0,1\}//' Makefile

clean:
	$(RM) -r build build-* compile_commands.json

always:

.PHONY: always all deb examples deps run-deps test-deps interop-deps wheel run check check-once check-hostile check-mutations check-arm64 unit-tests bench bench-regress bench-compare bench-pipelines benches lint coverage install uninstall help clean compile_commands.json
.SECONDARY:
-include $(B)/daemon/main.d $(B)/daemon/gpu/perfd_gpu.d $(B)/client/perfctl.d $(B)/client/perfctl_static.d $(B)/client/perfctl_results.d $(B)/client/perfctl_top.d $(B)/client/perfctl_commands.d $(CORE_OBJ:.o=.d) $(DAEMON_OBJ:.o=.d) $(CLIENT_OBJ:.o=.d) $(UNIT_TESTS:=.d) $(BENCHES:=.d) \
         $(FUZZ_OBJ:.o=.d)
