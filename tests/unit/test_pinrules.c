/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns, the rules of SPILLWAY_PIN, and the setting meant by a name misspelt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/config.h"
#include "preload/base/glob.h"
#include "preload/base/log.h"
#include "preload/base/pinrules.h"

static bool glob(const char *pattern, const char *name)
{
    return spill_glob(pattern, strlen(pattern), name);
}

static void patterns(void **state)
{
    (void)state;
    assert_true(glob("", ""));
    assert_false(glob("", "a"));
    assert_true(glob("*", ""));
    assert_true(glob("*", "anything"));
    assert_true(glob("python?", "python3"));
    assert_false(glob("python?", "python"));
    assert_false(glob("python", "python3"));
    assert_true(glob("*embedding*", "_Z9embeddingPf"));
    assert_true(glob("a*b*c", "aXbYbZc"));
    assert_false(glob("a*b*c", "aXbYbZ"));
    assert_true(glob("**a", "bba"));
    assert_false(glob("*aab", "aaac"));
    assert_true(glob("*aab", "aaaab"));
    assert_true(spill_glob("pythonX", 6, "python")); /* only so many letters of it */
}

static void lists(void **state)
{
    (void)state;
    assert_false(spill_glob_list("", "python"));
    assert_false(spill_glob_list(",", ""));
    assert_true(spill_glob_list("bash,python*", "python3"));
    assert_true(spill_glob_list(",,bash", "bash"));
    assert_false(spill_glob_list("bash,zsh", "sh"));
}

static void rules(void **state)
{
    static const char *const bad[] = {"4MiB",  "size:",          "size:x",          "kernel:",
                                      "site:", "size:2MiB-1MiB", "size:1MiB-2MiB-", "buffer:1"};
    (void)state;
    spill_log_set_level(SPILL_LOG_ERROR);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (spill_pinrules_set(bad[i]))
            fail_msg("'%s' was taken", bad[i]);
    assert_true(spill_pinrules_set(""));
    assert_false(spill_pinrules_kernel("f"));
    assert_true(spill_pinrules_set("size:4MiB,size:100-200,kernel:*gather*,kernel:f,"));
    assert_true(spill_pinrules_size(4 << 20));
    assert_false(spill_pinrules_size((4 << 20) + 1));
    assert_false(spill_pinrules_size(99));
    assert_true(spill_pinrules_size(100));
    assert_true(spill_pinrules_size(200));
    assert_false(spill_pinrules_size(201));
    assert_true(spill_pinrules_kernel("f"));
    assert_true(spill_pinrules_kernel("_Z6gatherPf"));
    assert_false(spill_pinrules_kernel("ff"));
    assert_false(spill_pinrules_by_site());
    assert_false(spill_pinrules_site("main"));
    assert_true(spill_pinrules_set("site:libnccl*,site:*make_cache*"));
    assert_true(spill_pinrules_by_site());
    assert_true(spill_pinrules_site("libnccl.so.2"));
    assert_true(spill_pinrules_site("_Z10make_cachem"));
    assert_false(spill_pinrules_site("libcudart.so.13"));
    assert_false(spill_pinrules_kernel("libnccl.so.2"));
}

static void nearest(void **state)
{
    (void)state;
    assert_string_equal(spill_config_nearest("SPILLWAY_GPUMEM"), "SPILLWAY_GPU_MEM");
    assert_string_equal(spill_config_nearest("SPILLWAY_HOSTMEM"), "SPILLWAY_HOST_MEM");
    assert_string_equal(spill_config_nearest("SPILLWAY_MODUS"), "SPILLWAY_MODE");
    assert_string_equal(spill_config_nearest("SPILLWAY_VERBOS"), "SPILLWAY_VERBOSE");
    assert_null(spill_config_nearest("SPILLWAY_QQQQQQQQ"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(lists),
        cmocka_unit_test(rules),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests_name("pinrules", tests, NULL, NULL);
}
