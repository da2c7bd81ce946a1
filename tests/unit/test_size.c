/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/base/size.h"

static void accepts(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"512B", 512},
        {"2K", 2048},
        {"2KiB", 2048},
        {"2kib", 2048},
        {"2kB", 2000},
        {"2KB", 2000},
        {"1M", 1 << 20},
        {"1.5MiB", 3 << 19},
        {"3 GiB", UINT64_C(3) << 30},
        {"20g", UINT64_C(20) << 30},
        {"20GB", UINT64_C(20000000000)},
        {".5G", UINT64_C(1) << 29},
        {"0.25TiB", UINT64_C(1) << 38},
        {"1TB", UINT64_C(1000000000000)},
        {"1.0000001K", 1024},
        {"18446744073709551615", UINT64_MAX},
        {"1.1TiB", UINT64_C(1209462790553)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes = 42;
        if (spill_size_parse(cases[i].text, &bytes) != SPILL_OK || bytes != cases[i].bytes)
            fail_msg("%s: %llu instead of %llu", cases[i].text, (unsigned long long)bytes,
                     (unsigned long long)cases[i].bytes);
    }
}

static void refuses(void **state)
{
    static const char *const texts[] = {
        "",      " ",           "-1",
        "+1",    "1..5",        "1.",
        ".",     "x",           "1X",
        "1 X",   "1iB",         "1 M x",
        "1MiBs", "1bM",         "1e9",
        "0x10",  "1,5G",        "MiB",
        "1Ki",   "1mib ",       "1 1M",
        "99T9",  "1Bi",         "\t1",
        "1e",    "16777216TiB", "18446744073709551616",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t bytes = 42;
        enum spill_status status = spill_size_parse(texts[i], &bytes);
        /* "1Ki" may be read as KiB; all else must be refused. */
        if (status == SPILL_OK && texts[i][2] == 'i' && texts[i][3] == '\0')
            continue;
        if (status != SPILL_ERR_INVAL || bytes != 42)
            fail_msg("'%s' was taken for %llu", texts[i], (unsigned long long)bytes);
    }
    assert_int_equal(spill_size_parse(NULL, NULL), SPILL_ERR_INVAL);
}

static void prints(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {2 << 20, "2.0 MiB"},
        {UINT64_C(25125558681), "23.4 GiB"},
        {UINT64_C(1) << 60, "1.0 EiB"},
        {UINT64_C(3) << 60, "3.0 EiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char text[24];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(spill_size_format(cases[i].bytes, text, sizeof(text)), cases[i].text);
    /* Too small a room cuts, and never runs over. */
    char little[4] = "zzz";
    spill_size_format(1536, little, 3);
    assert_int_equal(little[2], '\0');
    assert_int_equal(little[3], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(prints),
    };
    return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
