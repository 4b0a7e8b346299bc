/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot map of a generation: the slot of each rank on its node, and the port of their rendezvous.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "cluster/node.h"
#include "wire/member.h"
#include "wire/run_fields.h"

enum { RANKS_LIMIT = 1 << 16, PORT_LIMIT = (1 << 16) - 1 };

static const struct wire_member slot_map_members[] = {
    {WIRE_MEMBER (run_slot_map, port, WIRE_INT), .min = 0, .max = PORT_LIMIT},
    {0},
};

int run_slot_map_encode (const struct run_slot_map *slot_map, char **ret, size_t *ret_length,
                         struct pollux_error *err)
{
    json_t *object;
    int code = run_object_new (&object, err);
    if (code < 0)
        return code;
    code = run_list_put (object, "slots", slot_map->slots, slot_map->count, err);
    if (code == 0)
        code = wire_members_encode (slot_map_members, slot_map, object, err);
    return run_object_text (object, code, RUN_SLOT_MAP_LIMIT, ret, ret_length, err);
}

static int slots_decode (const struct wire_place *root, struct run_slot_map *ret,
                         struct pollux_error *err)
{
    struct wire_place list = wire_field (root, "slots");
    size_t count = json_array_size (list.value);
    if (!json_is_array (list.value) || count < 1 || count > RANKS_LIMIT)
        return wire_fail (&list, err, "expected a list of 1 to %d numbers", RANKS_LIMIT);
    int *slots = calloc (count, sizeof (slots[0]));
    if (!slots)
        return fail (err, -ENOMEM, "slots: not enough memory");
    for (size_t i = 0; i < count; i++) {
        struct wire_place item = wire_element (&list, i);
        json_int_t slot = json_integer_value (item.value);
        if (!json_is_integer (item.value) || slot < 0 || slot >= SLOTS_LIMIT) {
            free (slots);
            return wire_fail (&item, err, "expected an integer from 0 to %d", SLOTS_LIMIT - 1);
        }
        slots[i] = (int)slot;
    }
    ret->slots = slots;
    ret->count = (int)count;
    return 0;
}

int run_slot_map_decode (const char *name, const char *text, size_t length,
                         struct run_slot_map *ret, struct pollux_error *err)
{
    struct wire_document *document;
    struct run_slot_map slot_map = {0};
    int code = wire_document_parse (name, text, length, RUN_SLOT_MAP_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = run_version_decode (&root, err);
    if (code == 0)
        code = wire_members_decode (slot_map_members, &root, &slot_map, err);
    if (code == 0)
        code = slots_decode (&root, &slot_map, err);
    wire_document_free (document);
    if (code == 0)
        *ret = slot_map;
    return code;
}
