/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/spillway/demangle.h"

static void names(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"", ""},
        {"_Z7augmentPKfPfij", "augment"},
        {"_Z6affineILi64ELi32EEvPKfS1_Pfi", "affine<64, 32>"},
        {"_ZN12_GLOBAL__N_14hideEv", "(anonymous namespace)::hide"},
        {"_Znothing", "_Znothing"},
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(spill_demangle(cases[i][0], text, sizeof(text)), cases[i][1]);
    assert_string_equal(spill_demangle("_Z7augmentPKfPfij", text, 4), "aug");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
    return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
