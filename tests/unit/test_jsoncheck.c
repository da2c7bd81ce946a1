/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/spillway/jsoncheck.h"

static void test_json(void **state)
{
    static const char *const good[] = {"{}",
                                       " [ ] ",
                                       "0",
                                       "-1.5e+3",
                                       "\"a\\\"\\u00e9\\n\"",
                                       "{\"a\":[1, {\"b\":null}]}",
                                       "[true,false]",
                                       "\"</x>\"",
                                       "1E2",
                                       "{\"\":0}"};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!spill_jsoncheck(good[i]))
            fail_msg("refused: %s", good[i]);
}

static void test_no_json(void **state)
{
    static const char *const bad[] = {
        "",    " ",     "{",   "}",    "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}",
        "01",  "1.",    "-",   "1e",   "\"",   "\"\\x\"", "\"\\u12",  "\"a\nb\"",
        "nul", "[1 2]", "[1}", "{}{}", "1,",   "+1",      "{\"a\":1", "{\"a\" 1}"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (spill_jsoncheck(bad[i]))
            fail_msg("taken: %s", bad[i]);
}

static void test_depth(void **state)
{
    char text[2 * 64 + 1] = "";
    (void)state;
    for (int depth = 1; depth <= 64; depth++) {
        for (int i = 0; i < depth; i++) {
            text[i] = '[';
            text[2 * depth - 1 - i] = ']';
        }
        text[2 * depth] = '\0';
        assert_int_equal(spill_jsoncheck(text), depth <= 33);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_no_json),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
