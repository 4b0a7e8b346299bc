# SPDX-License-Identifier: Apache-2.0
# The one makefile; `make help` lists the targets.
#
# A room is a folder of src/.  Files are found by wildcard: a new .c in a room, in tests/unit,
# bench or fuzz, or a new page in docs/man needs no line here.
#
#   include/ src/ROOM/*.c --> $(B)/obj/... --+--> libpollux.so, libpollux.a   (LIB_ROOMS)
#                                            +--> rooms.a --+--> pollux       (+ src/cli)
#                                                           +--> polluxd      (+ src/daemon/main.c)
#                                                           +--> tests/NAME   (+ tests/unit)
#                                                           +--> bench/NAME, fuzz/NAME

# ---- Variables for the caller ---------------------------------------------------------------

# A flavour is a compiler with its flags and its own build folder.  Plain `make` is for users: it
# has no flavour, builds into build/ and shows warnings.  The flavours are for the tests; warnings are errors there.
FLAVOUR ?=
B ?= build$(if $(FLAVOUR),/$(FLAVOUR))
STRICT ?= $(FLAVOUR)
SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer

ifeq ($(origin CC),default)
CC := gcc
endif
ifneq ($(filter clang asan tsan fuzz,$(FLAVOUR)),)
CC := clang
endif
ifeq ($(FLAVOUR),asan)
CFLAGS := -O1 -g $(SANITIZE)
else ifeq ($(FLAVOUR),tsan)
CFLAGS := -O1 -g -fsanitize=thread
else ifeq ($(FLAVOUR),fuzz)
CFLAGS := -O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link
else
CFLAGS ?= -O2 -g
endif
# Fault injection (src/base/fault.h): the tests make programs stop at a chosen point.
ifneq ($(FLAVOUR),)
FAULTS := -DPOLLUX_FAULTS
endif

# Installation folders; DESTDIR is put before each of them.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
# The folder under PREFIX that a Python of this machine searches; if there is none, the folder that Debian's Python
# would use.
PYTHONDIR ?= $(eval PYTHONDIR := $$(shell tools/find-python --folder '$(PREFIX)'))$(PYTHONDIR)

# ---- Flags ----------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wconversion -Wshadow
# No fused multiply-add: every compiler computes the same bits.  No errno from mathematical functions: no code
# reads it, and without it loops of square roots are vectorised.
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(if $(STRICT),-Werror) -ffp-contract=off -fno-math-errno \
	-fvisibility=hidden -fPIC -pthread -ffunction-sections -Iinclude -Isrc $(FAULTS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -Wl,--as-needed -Wl,--gc-sections $(LDFLAGS)

VERSION := $(shell sed -n 's/^.define POLLUX_VERSION "\(.*\)"/\1/p' include/pollux/pollux.h)
# Incremented when programs linked with an older library stop working.
SOVERSION := 1
# The soname is also the name of the file, so that libraries with other sonames can be installed beside it.
SHARED := libpollux.so.$(SOVERSION)

# ---- Rooms ----------------------------------------------------------------------------------

# Lowest first; tools/check-includes has the exact rule which room may include which.  The library
# consists of LIB_ROOMS and needs libc, libm and threads only.
LIB_ROOMS := base model agent
ROOMS := $(LIB_ROOMS) munge solver cluster policy policy/ga scaling loop wire store sim backend backend/slurm http api recorded daemon

# The flags of each library, by the names that tools/setup uses: it links a test program with them.
LINK_jansson := -ljansson
LINK_yaml := -lyaml
LINK_sqlite3 := -lsqlite3
LINK_qhull := -lqhull_r
LINK_microhttpd := -lmicrohttpd
LINK_gnutls := -lgnutls
LINK_nettle := -lnettle
LINK_z := -lz
LINK_curl := -lcurl
LINK_curses := -lncursesw -ltinfo
LINK_xxhash := # compiled in from its header
LINK_cmocka := -lcmocka
LINK_openblas := -lopenblas
LINK_NAMES := jansson yaml sqlite3 qhull microhttpd gnutls nettle z curl curses xxhash cmocka openblas

# --as-needed: a program loads those that it uses.  polluxd does not use curl: it has no supervisor in it.
LIBS := $(LINK_jansson) $(LINK_yaml) $(LINK_sqlite3) $(LINK_qhull) $(LINK_microhttpd) $(LINK_gnutls) $(LINK_nettle) \
	$(LINK_z) $(LINK_curl) -lm
CLI_LIBS := $(LINK_curses)

objects = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(1)))
LIB_OBJECTS := $(call objects,$(LIB_ROOMS:%=src/%/*.c))
DAEMON_MAIN := $(call objects,src/daemon/main.c)
ROOM_OBJECTS := $(filter-out $(DAEMON_MAIN),$(call objects,$(ROOMS:%=src/%/*.c)))
CLI_OBJECTS := $(call objects,src/cli/*.c)
TEST_OBJECTS := $(call objects,tests/unit/test_*.c)
TEST_HELPERS := $(filter-out $(TEST_OBJECTS),$(call objects,tests/unit/*.c))
BENCH_OBJECTS := $(call objects,bench/*.c)
FUZZ_OBJECTS := $(call objects,fuzz/*.c)

program = $(patsubst $(B)/obj/$(1)/%.o,$(B)/$(2)/%,$(3))
TESTS := $(call program,tests/unit,tests,$(TEST_OBJECTS))
BENCHES := $(call program,bench,bench,$(BENCH_OBJECTS))
FUZZERS := $(call program,fuzz,fuzzers,$(FUZZ_OBJECTS))

LIBRARIES := $(B)/libpollux.a $(B)/libpollux.so
COMMANDS := $(if $(CLI_OBJECTS),$(B)/pollux) $(if $(DAEMON_MAIN),$(B)/polluxd)
ALL_PAGES := $(patsubst docs/man/%.scd,$(B)/man/%,$(wildcard docs/man/*.scd))
PAGES := $(if $(shell command -v scdoc 2>/dev/null),$(ALL_PAGES))
C_FILES := $(wildcard $(foreach dir,include/pollux src/* src/*/* tests/unit tests/house tests/soak bench fuzz tools \
	examples examples/c,$(dir)/*.c $(dir)/*.h))

# ---- Building -------------------------------------------------------------------------------

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all
all: $(COMMANDS) $(LIBRARIES) man ## build the command, the libraries and the man pages

# A record is a file that changes only when its text changes.  Targets depend on it, so they are built
# again after a change of the flags, of the list of files or of the soname.
record = @mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(strip $(1)))' > $@
changed = $(if $(findstring =$(strip $(1))=,=$(strip $(file <$(2)))=),,$(2))

FLAGS = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS) $(CLI_LIBS)
PARTS = $(ROOM_OBJECTS) $(CLI_OBJECTS) $(DAEMON_MAIN) $(SHARED)
.PHONY: $(call changed,$(FLAGS),$(B)/flags) $(call changed,$(PARTS),$(B)/parts)
$(B)/flags: ; $(call record,$(FLAGS))
$(B)/parts: ; $(call record,$(PARTS))

# Once per build folder and set of flags: name a missing compiler or library before the first compiler error.
$(B)/checked: tools/setup $(B)/flags
	@mkdir -p $(@D)
	@tools/setup --check build
	@touch $@

$(B)/obj/%.o: %.c $(B)/flags | $(B)/checked
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# The assembler includes this file in the object.
$(B)/obj/src/sim/builtin_profiles.o: src/sim/profiles.json

# The page, the same for all flavours.  Without npm a program without the page is built (tools/page), and again when
# there is npm.  Without .PHONY, .SECONDARY would let a missing page_built.h pass.
PAGE ?= build/web
PAGE_SOURCES := tools/page $(wildcard web/*.json web/*.mjs web/.npmrc web/src/* web/src/*/*)
PAGE_STATE := $(or $(file <$(PAGE)/page_built.h),missing)
.PHONY: $(if $(or $(findstring missing,$(PAGE_STATE)),$(and $(findstring no npm,$(PAGE_STATE)),$(shell command -v npm))),$(PAGE)/page_built.h)
$(PAGE)/page_built.h: $(PAGE_SOURCES)
	@tools/page $(PAGE)
$(B)/obj/src/api/page.o: EXTRA_CFLAGS := -I$(PAGE) -DPAGE_FOLDER='"$(PAGE)"'
$(B)/obj/src/api/page.o: $(PAGE)/page_built.h

# Everything but main, for the commands and the tests.
$(B)/rooms.a: $(ROOM_OBJECTS) $(B)/parts
	@rm -f $@
	$(AR) rcs $@ $(ROOM_OBJECTS)

$(B)/pollux: $(CLI_OBJECTS) $(B)/rooms.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(CLI_OBJECTS) $(B)/rooms.a $(LIBS) $(CLI_LIBS) -o $@

$(B)/polluxd: $(DAEMON_MAIN) $(B)/rooms.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(DAEMON_MAIN) $(B)/rooms.a $(LIBS) -o $@

# Names that are hidden in the shared library are local in the static one too: a program that links
# it can define its own fail().
$(B)/libpollux.a: $(LIB_OBJECTS) $(B)/parts
	@rm -f $@
	$(LD) -r $(LIB_OBJECTS) -o $(B)/libpollux.o
	objcopy --localize-hidden $(B)/libpollux.o
	$(AR) rcs $@ $(B)/libpollux.o

# Programs load the soname; the linker finds the short name.
$(B)/$(SHARED): $(LIB_OBJECTS) $(B)/parts
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(SHARED) \
		$(if $(findstring -fsanitize,$(CFLAGS)),,-Wl,-z,defs) \
		$(ALL_LDFLAGS) $(LIB_OBJECTS) -lm -o $@
$(B)/libpollux.so: $(B)/$(SHARED)
	ln -sf $(SHARED) $@

.PHONY: man
man: $(PAGES) ## render the man pages
	@$(if $(filter-out $(PAGES),$(ALL_PAGES)),echo "scdoc is missing: the man pages are not built; \`tools/setup build\` installs it.",true)
$(B)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@

# ---- Testing --------------------------------------------------------------------------------

$(TESTS): $(B)/tests/%: $(B)/obj/tests/unit/%.o $(TEST_HELPERS) $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(TEST_HELPERS) $(B)/rooms.a $(LIBS) $(LINK_cmocka) -o $@
$(TEST_OBJECTS) $(TEST_HELPERS): EXTRA_CFLAGS := -Itests/unit

.PHONY: tests unit $(TESTS:%=%.run)
tests: $(TESTS)
# RUN is a command to run the test programs with, such as valgrind.  The longest tests start first, so that
# the end does not wait for one of them.
LONGEST := $(filter $(TESTS),$(patsubst %,$(B)/tests/test_%,storm local snapshot store pollux))
unit: $(LONGEST:%=%.run) $(TESTS:%=%.run) ## build and run the unit tests (FLAVOUR=gcc|clang|asan|tsan for the others)
$(TESTS:%=%.run): %.run: %
	@tools/run-unit $(RUN) $<
# These tests start $(B)/pollux.
$(B)/tests/test_backend.run $(B)/tests/test_local.run $(B)/tests/test_storm.run: $(B)/pollux

.PHONY: test soak
test: ## all tests, about twenty minutes; ends with `N passed, N failed`
	@tools/setup test
	@tools/test
soak: ## all tests with full counts, long fuzzing, a fresh Debian 12 and the timing targets; hours
	@tools/setup soak
	@POLLUX_SOAK=1 tools/test

.PHONY: test-api
test-api: $(B)/pollux $(B)/polluxd ## docs/openapi.json against a daemon, by schemathesis from PyPI; two minutes
	@tools/setup test
	@POLLUX=$(B)/pollux bash tests/api/schemathesis.sh

.PHONY: test-torch
test-torch: ## the Python package with PyTorch 2.13 from PyPI, and its wheel; minutes
	@tools/setup test
	@tools/test torch wheel

# See tools/subreaper.c: the test scripts and the demo run under it.
$(B)/tools/subreaper: tools/subreaper.c $(B)/flags | $(B)/checked
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< -o $@

# The trainers of examples/c need MPI and OpenBLAS, which `tools/setup demo` installs.
# OMPI_CC and MPICH_CC: mpicc calls the compiler of the flavour.
MPICC ?= $(if $(shell command -v mpicc 2>/dev/null),OMPI_CC='$(CC)' MPICH_CC='$(CC)' mpicc)
TRAINER_PARTS := $(filter-out %/plain.o %/trainer.o,$(call objects,examples/c/*.c))
TRAINERS := $(B)/examples/plain $(B)/examples/trainer
$(TRAINER_PARTS) $(call objects,examples/c/plain.c examples/c/trainer.c): private CC := $(MPICC)
$(TRAINERS): $(B)/examples/%: $(B)/obj/examples/c/%.o $(TRAINER_PARTS) $(B)/libpollux.a
	@mkdir -p $(@D)
	$(MPICC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(TRAINER_PARTS) $(B)/libpollux.a $(LINK_openblas) -lm -o $@

.PHONY: examples demo
examples: ## build the trainers of examples/c (needs MPI and OpenBLAS)
	@tools/setup --check demo
	@$(MAKE) --no-print-directory $(TRAINERS)
demo: ## two minutes of real training jobs under polluxd
	@tools/setup demo
	@$(MAKE) --no-print-directory -s all examples $(B)/tools/subreaper
	@tools/demo

.PHONY: screenshots
screenshots: ## pictures of every view of the page, in build/screenshots; six minutes
	@tools/setup demo
	@tools/setup web
	@$(MAKE) --no-print-directory -s all examples $(B)/tools/subreaper
	@tools/screenshots

$(BENCHES): $(B)/bench/%: $(B)/obj/bench/%.o $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(B)/rooms.a $(LIBS) -o $@
# This one runs both programs.
$(B)/bench/daemon_load: | $(B)/pollux $(B)/polluxd

.PHONY: benches bench
benches: $(BENCHES)
bench: $(COMMANDS) $(BENCHES) $(B)/libpollux.so $(B)/tools/subreaper ## measure, and compare with the targets
	@POLLUX_BUILD=$(abspath $(B)) tools/bench $(BENCHES) $(wildcard bench/*.py bench/*.sh)

# `make fuzz` always builds FLAVOUR=fuzz: the targets need clang's libFuzzer.
$(FUZZERS): $(B)/fuzzers/%: $(B)/obj/fuzz/%.o $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(ALL_LDFLAGS) $< $(B)/rooms.a $(LIBS) -o $@

.PHONY: fuzzers fuzz
fuzzers: $(FUZZERS)
fuzz: ## run every fuzz target for FUZZ_SECONDS (60)
	@$(MAKE) --no-print-directory FLAVOUR=fuzz B=build/fuzz fuzzers
	@tools/fuzz

.PHONY: check-includes check-format cppcheck format
check-includes: ; @tools/check-includes
check-format: ; @clang-format --dry-run -Werror $(C_FILES)
# The exit status omits findings across files, so any output is a failure.  ctunullpointer is off: it
# reports sizeof (err->text) as an access through err.
cppcheck:
	@mkdir -p $(B)/cppcheck
	@cppcheck --quiet --inline-suppr --std=c11 --library=posix \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=ctunullpointer --cppcheck-build-dir=$(B)/cppcheck -j 2 -Iinclude -Isrc \
		$(filter %.c,$(C_FILES)) 2> $(B)/cppcheck.log || true
	@cat $(B)/cppcheck.log >&2 && test ! -s $(B)/cppcheck.log
format: ## format all C files (clang-format)
	clang-format -i $(C_FILES)

# ---- Installing -----------------------------------------------------------------------------

INSTALL ?= install
COMPLETIONS := $(wildcard completion/*)
man_dest = $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
HEADERS := $(wildcard include/pollux/*.h)
PYTHON_FILES := $(patsubst bindings/python/%,%,$(wildcard $(foreach suffix,*.py py.typed,\
	bindings/python/pollux/$(suffix) bindings/python/pollux/*/$(suffix))))
INSTALLED = $(addprefix $(DESTDIR)$(BINDIR)/,pollux polluxd) $(HEADERS:include/%=$(DESTDIR)$(INCLUDEDIR)/%) \
	$(addprefix $(DESTDIR)$(LIBDIR)/,libpollux.a libpollux.so $(SHARED)) \
	$(DESTDIR)$(LIBDIR)/pkgconfig/pollux.pc $(foreach page,$(ALL_PAGES),$(call man_dest,$(page))) \
	$(DESTDIR)$(UNITDIR)/polluxd.service $(DESTDIR)$(SYSUSERSDIR)/pollux.conf \
	$(DESTDIR)$(DATADIR)/doc/pollux/polluxd.yaml \
	$(DESTDIR)$(DATADIR)/bash-completion/completions/pollux \
	$(DESTDIR)$(DATADIR)/zsh/site-functions/_pollux \
	$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/pollux.fish \
	$(addprefix $(DESTDIR)$(PYTHONDIR)/,$(PYTHON_FILES))

.PHONY: install uninstall
install: all ## install under PREFIX (/usr/local); DESTDIR for packagers
	$(foreach command,$(COMMANDS),$(INSTALL) -D -m 755 -t $(DESTDIR)$(BINDIR) $(command)$(newline))
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(INCLUDEDIR)/pollux $(HEADERS)
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(LIBDIR) $(B)/$(SHARED) $(B)/libpollux.a
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/libpollux.so
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' pollux.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/pollux.pc
	$(INSTALL) -d $(DESTDIR)$(UNITDIR)
	sed -e 's|@BINDIR@|$(BINDIR)|' systemd/polluxd.service.in > $(DESTDIR)$(UNITDIR)/polluxd.service
	$(INSTALL) -D -m 644 systemd/pollux.sysusers $(DESTDIR)$(SYSUSERSDIR)/pollux.conf
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(DATADIR)/doc/pollux docs/polluxd.yaml
	$(foreach page,$(PAGES),$(INSTALL) -D -m 644 $(page) $(call man_dest,$(page))$(newline))
	$(foreach file,$(filter %.bash,$(COMPLETIONS)),$(INSTALL) -D -m 644 $(file) \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/pollux$(newline))
	$(foreach file,$(filter %.zsh,$(COMPLETIONS)),$(INSTALL) -D -m 644 $(file) \
		$(DESTDIR)$(DATADIR)/zsh/site-functions/_pollux$(newline))
	$(foreach file,$(filter %.fish,$(COMPLETIONS)),$(INSTALL) -D -m 644 $(file) \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/pollux.fish$(newline))
	$(foreach file,$(PYTHON_FILES),$(INSTALL) -D -m 644 bindings/python/$(file) \
		$(DESTDIR)$(PYTHONDIR)/$(file)$(newline))
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true
uninstall: ## remove what `make install` with the same variables installed
	rm -f $(INSTALLED)
	rm -rf $(addprefix $(DESTDIR)$(PYTHONDIR)/,$(addsuffix __pycache__,$(sort $(dir $(PYTHON_FILES)))))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/pollux 2>/dev/null
	-find $(DESTDIR)$(PYTHONDIR)/pollux -depth -type d -empty -delete 2>/dev/null

# Packages are built from a copy of the sources, because Debian's tools write into the parent folder.  nocheck:
# `make test` runs the tests.  -d: tools/setup checks the build dependencies, by use and not by package name.
.PHONY: deb
deb: ## Debian packages in build/deb
	@command -v dh >/dev/null || { echo "debhelper is missing: \`tools/setup test\` installs it."; exit 1; }
	@rm -rf build/deb && mkdir -p build/deb/pollux-$(VERSION)
	@tar -c --exclude=./build --exclude=./.git . | tar -x -C build/deb/pollux-$(VERSION)
	cd build/deb/pollux-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL \
		DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=nocheck dpkg-buildpackage -b -d -us -uc
	@ls build/deb/*.deb

# ---- Cleaning and help -----------------------------------------------------------------------

.PHONY: clean help
clean: ## remove everything that was built
	rm -rf $(B)
help: ## this list
	@echo "make TARGET, with TARGET one of"
	@sed -n 's/^\([a-z-]*\):[^#]* ## \(.*\)/\1\t\2/p' Makefile | expand -t 12 | sed 's/^/  /'
	@echo "Variables: PREFIX DESTDIR PYTHONDIR CC CFLAGS CPPFLAGS LDFLAGS FLAVOUR=gcc|clang|asan|tsan B=FOLDER"

# The compiler and all flags, one NAME=VALUE per line, for tools/setup.
.PHONY: print-flags
print-flags:
	@: $(info CC=$(CC)) $(info MPICC=$(MPICC)) $(info CLANG_RUNTIMES=$(SANITIZE) -fsanitize=fuzzer) \
	$(info CFLAGS=$(ALL_CFLAGS)) $(info LDFLAGS=$(ALL_LDFLAGS)) \
	$(foreach name,$(LINK_NAMES),$(info LINK_$(name)=$(LINK_$(name))))

# A line break: a foreach in a recipe expands to one command per line.
define newline


endef

ALL_OBJECTS := $(ROOM_OBJECTS) $(CLI_OBJECTS) $(DAEMON_MAIN) $(TEST_OBJECTS) $(TEST_HELPERS) $(BENCH_OBJECTS) \
	$(FUZZ_OBJECTS) $(call objects,examples/c/*.c)
-include $(ALL_OBJECTS:.o=.d)
