# SPDX-License-Identifier: Apache-2.0
# One makefile for the whole house.  A room is a folder of src/; its files are found by
# wildcard, so a new file needs no line here.  `make help` lists what there is to make.

# Where objects go.  Another compiler or other flags want another folder:
#   make B=build/clang CC=clang
B ?= build
PREFIX ?= /usr/local

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wconversion -Wshadow
STRICT ?=
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(if $(STRICT),-Werror) -ffp-contract=off -fvisibility=hidden \
	-fPIC -pthread -ffunction-sections -Iinclude -Isrc -MMD -MP $(CPPFLAGS) $(CFLAGS)
LIBS := -ljansson -lm

# Rooms, lowest first: each may include only those before it (tools/check-includes has the
# exact rule).  The library is made of the first ones only.
LIB_ROOMS := base model
ROOMS := $(LIB_ROOMS) cluster policy loop wire store sim

room_objects = $(patsubst src/%.c,$(B)/obj/%.o,$(foreach room,$(1),$(wildcard src/$(room)/*.c)))
LIB_OBJECTS := $(call room_objects,$(LIB_ROOMS))
ROOM_OBJECTS := $(call room_objects,$(ROOMS))
CLI_OBJECTS := $(call room_objects,cli)
TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))

.PHONY: all unit clean
all: $(if $(CLI_OBJECTS),$(B)/pollux) $(B)/libpollux.a

$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

# Everything but main, for the command and the tests.
$(B)/rooms.a: $(ROOM_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libpollux.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/pollux: $(CLI_OBJECTS) $(B)/rooms.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(B)/tests/%: tests/unit/%.c $(B)/rooms.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MF $@.d -Itests/unit $(LDFLAGS) $< $(B)/rooms.a $(LIBS) -lcmocka -o $@

# Build and run the unit tests of this flavour.
unit: $(TESTS)
	@for t in $(TESTS); do $$t || exit 1; done

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
