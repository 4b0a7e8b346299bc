/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: elements stay, capacities double, and a full array changes nothing. */
#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "base/array.h"

struct pair {
    int64_t key;
    char letter;
};

static void test_append (void **state)
{
    (void)state;
    struct pair *list = NULL;
    int count = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        struct pair pair = {i, (char)('a' + i % 26)};
        assert_int_equal (array_append (&list, &count, &capacity, &pair, sizeof (pair)), 0);
        assert_int_equal (count, i + 1);
        assert_true (capacity >= count && capacity < 2 * count + 16);
    }
    for (int i = 0; i < count; i++)
        assert_true (list[i].key == i && list[i].letter == 'a' + i % 26);
    free (list);
}

static void test_append_full (void **state)
{
    (void)state;
    char first = 'x', *list = &first;
    int count = INT_MAX / 2 + 1, capacity = count;
    assert_int_equal (array_append (&list, &count, &capacity, "y", 1), -ENOMEM);
    assert_true (list == &first && count == INT_MAX / 2 + 1 && capacity == count && first == 'x');
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_append),
        cmocka_unit_test (test_append_full),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
