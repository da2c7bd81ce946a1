/* SPDX-License-Identifier: Apache-2.0 */
/* The formatter against libc's on everything it claims to know. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/fmt.h"

#define SAME(...)                                                                                  \
    do {                                                                                           \
        char ours[128], libcs[128];                                                                \
        int n = snprintf(libcs, sizeof(libcs), __VA_ARGS__);                                       \
        assert_int_equal(spill_fmt(ours, sizeof(ours), __VA_ARGS__), n);                           \
        assert_string_equal(ours, libcs);                                                          \
    } while (0)

static void like_libc(void **state)
{
    (void)state;
    SAME("plain");
    SAME("%s and %s", "one", "");
    SAME("%c%c", 'a', '%');
    SAME("%d %d %d", 0, INT_MIN, INT_MAX);
    SAME("%u", UINT_MAX);
    SAME("%x", 0xbeefu);
    SAME("%ld %lu", LONG_MIN, ULONG_MAX);
    SAME("%lld %llu", LLONG_MIN, ULLONG_MAX);
    SAME("%zu", SIZE_MAX);
    SAME("%5d|%5u|%05d", 42, 42u, 42);
    SAME("%016llx", 0x123456789abcdefULL);
    SAME("%2d", 12345);
    SAME("100%%");
}

static void pointers(void **state)
{
    char text[32];
    (void)state;
    spill_fmt(text, sizeof(text), "%p", (void *)(uintptr_t)0x7f00);
    assert_string_equal(text, "0x7f00");
}

static void cuts(void **state)
{
    char text[8];
    (void)state;
    memset(text, 'z', sizeof(text));
    assert_int_equal(spill_fmt(text, 5, "%s", "longer than that"), 4);
    assert_string_equal(text, "long");
    assert_int_equal(text[5], 'z');
    assert_int_equal(spill_fmt(text, 1, "%d", 12), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_libc),
        cmocka_unit_test(pointers),
        cmocka_unit_test(cuts),
    };
    return cmocka_run_group_tests_name("fmt", tests, NULL, NULL);
}
