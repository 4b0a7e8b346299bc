# SPDX-License-Identifier: Apache-2.0
# One makefile for the whole house; `make help` lists what there is to make.
#
# A room is a folder of src/.  Files are found by wildcard, so a new .c in a room, in
# tests/unit, bench or fuzz, or a new page in docs/man needs no line here.
#
#   include/ src/ROOM/*.c --> $(B)/obj/... --+--> libpollux.so, libpollux.a   (LIB_ROOMS)
#                                            +--> rooms.a --+--> pollux       (+ src/cli)
#                                                           +--> polluxd      (+ src/daemon/main.c)
#                                                           +--> tests/NAME   (+ tests/unit)
#                                                           +--> bench/NAME, fuzz/NAME

# ---- What a caller may choose ---------------------------------------------------------------

# A flavour is a compiler with its flags, in a folder of its own.  Plain `make` is for users: it
# has no flavour, builds into build/ and lets warnings pass.  The others are for the tests.
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
# Programs that can be told to die at a certain moment (src/base/fault.h), for the tests alone.
ifneq ($(FLAVOUR),)
FAULTS := -DPOLLUX_FAULTS
endif

# Where things are installed; DESTDIR goes before all of them.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
# Where a Python of this machine looks under PREFIX; if none does, where Debian's would.
PYTHONDIR ?= $(eval PYTHONDIR := $$(shell tools/find-python --folder '$(PREFIX)'))$(PYTHONDIR)

# ---- Flags ----------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wconversion -Wshadow
# No fused multiply-add: the same sources give the same bits with every compiler.  Nobody reads
# errno after a square root, and without it a loop of them is vectorised.
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(if $(STRICT),-Werror) -ffp-contract=off -fno-math-errno \
	-fvisibility=hidden -fPIC -pthread -ffunction-sections -Iinclude -Isrc $(FAULTS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -Wl,--as-needed -Wl,--gc-sections $(LDFLAGS)

VERSION := $(shell sed -n 's/^.define POLLUX_VERSION "\(.*\)"/\1/p' include/pollux/pollux.h)
# Raised when a program linked with an older library would no longer work.
SOVERSION := 0

# ---- Rooms ----------------------------------------------------------------------------------

# Lowest first; tools/check-includes has the exact rule of who may include whom.  The library
# is made of the first ones only, and needs nothing but libc, libm and threads.
LIB_ROOMS := base model agent
ROOMS := $(LIB_ROOMS) solver cluster policy policy/ga loop wire store sim backend http api daemon

# A library is linked once the room that uses it has a file.
LIBS_wire := -ljansson -lyaml
LIBS_store := -lsqlite3
LIBS_sim := -lqhull_r
LIBS_http := -lmicrohttpd
LIBS_api := -lnettle
LIBS = $(foreach room,$(ROOMS),$(if $(wildcard src/$(room)/*.c),$(LIBS_$(room)))) \
	$(if $(wildcard src/cli/*.c),-ljansson) -lm
CLI_LIBS := -lcurl -lncursesw -ltinfo

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
C_FILES := $(wildcard $(foreach dir,include/pollux src/* src/*/* tests/unit tests/house bench fuzz \
	examples examples/c,$(dir)/*.c $(dir)/*.h))

# ---- Building -------------------------------------------------------------------------------

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all
all: $(COMMANDS) $(LIBRARIES) man ## build the command, the libraries and the man pages

# A record is a file that changes only when its text does, so that what was made with other
# flags, or of other files, is made again.
record = @mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(strip $(1)))' > $@
changed = $(if $(findstring =$(strip $(1))=,=$(strip $(file <$(2)))=),,$(2))

FLAGS = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS) $(CLI_LIBS)
PARTS = $(ROOM_OBJECTS) $(CLI_OBJECTS) $(DAEMON_MAIN)
.PHONY: $(call changed,$(FLAGS),$(B)/flags) $(call changed,$(PARTS),$(B)/parts)
$(B)/flags: ; $(call record,$(FLAGS))
$(B)/parts: ; $(call record,$(PARTS))

# Looked at once: a missing compiler or library is named before the first error about it.
$(B)/checked: tools/setup
	@mkdir -p $(@D)
	@CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' tools/setup --check build
	@touch $@

$(B)/obj/%.o: %.c $(B)/flags | $(B)/checked
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# The assembler puts this file into the program.
$(B)/obj/src/sim/builtin_profiles.o: src/sim/profiles.json

# Everything but main, for the commands and the tests.
$(B)/rooms.a: $(ROOM_OBJECTS) $(B)/parts
	@rm -f $@
	$(AR) rcs $@ $(ROOM_OBJECTS)

$(B)/pollux: $(CLI_OBJECTS) $(B)/rooms.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(CLI_OBJECTS) $(B)/rooms.a $(LIBS) $(CLI_LIBS) -o $@

$(B)/polluxd: $(DAEMON_MAIN) $(B)/rooms.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(DAEMON_MAIN) $(B)/rooms.a $(LIBS) -o $@

# Names that are hidden in the shared library are made local in the static one too: a program
# that links it may have a fail() of its own.
$(B)/libpollux.a: $(LIB_OBJECTS) $(B)/parts
	@rm -f $@
	$(LD) -r $(LIB_OBJECTS) -o $(B)/libpollux.o
	objcopy --localize-hidden $(B)/libpollux.o
	$(AR) rcs $@ $(B)/libpollux.o

# The file carries the whole version; programs ask for the soname; compilers for the short name.
SHARED := libpollux.so.$(VERSION)
$(B)/$(SHARED): $(LIB_OBJECTS) $(B)/parts
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,libpollux.so.$(SOVERSION) \
		$(if $(findstring -fsanitize,$(CFLAGS)),,-Wl,-z,defs) \
		$(ALL_LDFLAGS) $(LIB_OBJECTS) -lm -o $@
$(B)/libpollux.so: $(B)/$(SHARED)
	ln -sf $(SHARED) $(B)/libpollux.so.$(SOVERSION)
	ln -sf libpollux.so.$(SOVERSION) $@

.PHONY: man
man: $(PAGES) ## render the man pages
	@$(if $(filter-out $(PAGES),$(ALL_PAGES)),echo "No scdoc: the man pages are left out; \`tools/setup build\` installs it.",true)
$(B)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@

# ---- Testing --------------------------------------------------------------------------------

$(TESTS): $(B)/tests/%: $(B)/obj/tests/unit/%.o $(TEST_HELPERS) $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(TEST_HELPERS) $(B)/rooms.a $(LIBS) -lcmocka -o $@
$(TEST_OBJECTS) $(TEST_HELPERS): EXTRA_CFLAGS := -Itests/unit

.PHONY: tests unit $(TESTS:%=%.run)
tests: $(TESTS)
# RUN is what to put before a test program, such as valgrind.  The longest go first, so that none of
# them is waited for at the end.
LONGEST := $(filter $(TESTS),$(patsubst %,$(B)/tests/test_%,storm local snapshot store pollux))
unit: $(LONGEST:%=%.run) $(TESTS:%=%.run) ## build and run the unit tests (FLAVOUR=gcc|clang|asan|tsan for the others)
$(TESTS:%=%.run): %.run: %
	@tools/run-unit $(RUN) $<
# These start programs of their flavour.
$(B)/tests/test_local.run $(B)/tests/test_storm.run: $(B)/pollux

.PHONY: test soak
test: ## all tests, a few minutes; ends with `N passed, N failed`
	@tools/setup test
	@tools/test
soak: ## all tests with full counts, long fuzzing and the timing targets
	@tools/setup test
	@POLLUX_SOAK=1 tools/test

# The trainers of examples/c: built where there are MPI and OpenBLAS, which `tools/setup demo` installs.
# The compiler's own name for it is taken, so that flavours and their flags hold here too.
MPICC ?= $(if $(shell command -v mpicc 2>/dev/null),OMPI_CC='$(CC)' MPICH_CC='$(CC)' mpicc)
TRAINER_PARTS := $(filter-out %/plain.o %/trainer.o,$(call objects,examples/c/*.c))
TRAINERS := $(B)/examples/plain $(B)/examples/trainer
$(TRAINER_PARTS) $(call objects,examples/c/plain.c examples/c/trainer.c): private CC := $(MPICC)
$(TRAINERS): $(B)/examples/%: $(B)/obj/examples/c/%.o $(TRAINER_PARTS) $(B)/libpollux.a
	@mkdir -p $(@D)
	$(MPICC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(TRAINER_PARTS) $(B)/libpollux.a -lopenblas -lm -o $@

.PHONY: examples demo
examples: ## the trainers of examples/c, where there are MPI and OpenBLAS
	@tools/setup --check demo
	@$(MAKE) --no-print-directory $(TRAINERS)
demo: ## see it at work in two minutes: real training jobs under polluxd
	@tools/setup demo
	@$(MAKE) --no-print-directory -s all examples
	@tools/demo

$(BENCHES): $(B)/bench/%: $(B)/obj/bench/%.o $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< $(B)/rooms.a $(LIBS) -o $@
# This one measures the programs themselves.
$(B)/bench/daemon_load: | $(B)/pollux $(B)/polluxd

.PHONY: benches bench
benches: $(BENCHES)
bench: $(BENCHES) $(B)/libpollux.so ## measure, and compare with the targets
	@POLLUX_BUILD=$(abspath $(B)) tools/bench $(BENCHES) $(wildcard bench/*.py)

# `make fuzz` is the same in every flavour: the targets need clang's own.
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
# Its exit status forgets what it finds across files, so any word from it is a failure.  The one
# check left out takes sizeof (err->text) for an access through err.
cppcheck:
	@mkdir -p $(B)/cppcheck
	@cppcheck --quiet --inline-suppr --std=c11 --library=posix \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=ctunullpointer --cppcheck-build-dir=$(B)/cppcheck -j 2 -Iinclude -Isrc \
		$(filter %.c,$(C_FILES)) 2> $(B)/cppcheck.log || true
	@cat $(B)/cppcheck.log >&2 && test ! -s $(B)/cppcheck.log
format: ## bring all C files into shape (clang-format)
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
	$(addprefix $(DESTDIR)$(LIBDIR)/,libpollux.a libpollux.so libpollux.so.$(SOVERSION) $(SHARED)) \
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
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/libpollux.so.$(SOVERSION)
	ln -sf libpollux.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libpollux.so
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

# Packages are built from a copy of the sources, because Debian's tools write beside them; the
# tests are run by `make test`, not again here, and what a build needs is checked by our own rule
# (-d), which asks for things, not for packages.
.PHONY: deb
deb: ## Debian packages in build/deb
	@command -v dh >/dev/null || { echo "No debhelper here: tools/setup test installs it."; exit 1; }
	@rm -rf build/deb && mkdir -p build/deb/pollux-$(VERSION)
	@tar -c --exclude=./build --exclude=./.git . | tar -x -C build/deb/pollux-$(VERSION)
	cd build/deb/pollux-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL \
		DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=nocheck dpkg-buildpackage -b -d -us -uc
	@ls build/deb/*.deb

# ---- Keeping house --------------------------------------------------------------------------

.PHONY: clean help
clean: ## remove all that was built
	rm -rf $(B)
help: ## this list
	@echo "make TARGET, with TARGET one of"
	@sed -n 's/^\([a-z-]*\):[^#]* ## \(.*\)/\1\t\2/p' Makefile | expand -t 12 | sed 's/^/  /'
	@echo "Variables: PREFIX DESTDIR PYTHONDIR CC CFLAGS CPPFLAGS LDFLAGS FLAVOUR=gcc|clang|asan|tsan B=FOLDER"

# A line break, so that a foreach in a recipe gives one command each.
define newline


endef

ALL_OBJECTS := $(ROOM_OBJECTS) $(CLI_OBJECTS) $(DAEMON_MAIN) $(TEST_OBJECTS) $(TEST_HELPERS) $(BENCH_OBJECTS) \
	$(FUZZ_OBJECTS) $(call objects,examples/c/*.c)
-include $(ALL_OBJECTS:.o=.d)
