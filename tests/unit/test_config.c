/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment: each type, each default, and that a value misread turns all off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "preload/base/config.h"

static int clean(void **state)
{
    (void)state;
#define SPILL_CONFIG(field, name, type, fallback, unit, doc) unsetenv(name);
#include "preload/base/config.def"
#undef SPILL_CONFIG
    return 0;
}

static void defaults(void **state)
{
    struct spill_config c;
    (void)state;
    assert_int_equal(spill_config_read(&c), SPILL_OK);
    assert_int_equal(c.mode, SPILL_MODE_OFFLOAD);
    assert_int_equal(c.gpu_mem, 0);
    assert_int_equal(c.host_mem, 0);
    assert_string_equal(c.output, "");
    assert_int_equal(c.verbose, 2);
    assert_string_equal(c.pin, "");
    assert_true(c.mem_info);
    assert_string_equal(c.only, "");
    assert_string_equal(c.skip, "");
    assert_false(c.launched);
}

static void values(void **state)
{
    struct spill_config c;
    (void)state;
    setenv("SPILLWAY_MODE", "Profile", 1);
    setenv("SPILLWAY_GPU_MEM", "1.5GiB", 1);
    setenv("SPILLWAY_HOST_MEM", "4096", 1);
    setenv("SPILLWAY_OUTPUT", "/tmp/%p", 1);
    setenv("SPILLWAY_VERBOSE", "3", 1);
    setenv("SPILLWAY_MEM_INFO", "REAL", 1);
    setenv("SPILLWAY_LAUNCHED", "on", 1);
    assert_int_equal(spill_config_read(&c), SPILL_OK);
    assert_int_equal(c.mode, SPILL_MODE_PROFILE);
    assert_int_equal(c.gpu_mem, UINT64_C(3) << 29);
    assert_int_equal(c.host_mem, 4096);
    assert_string_equal(c.output, "/tmp/%p");
    assert_int_equal(c.verbose, 3);
    assert_false(c.mem_info);
    assert_true(c.launched);
}

static void misread_turns_off(void **state)
{
    static const char *const bad[][2] = {
        {"SPILLWAY_MODE", "on"},
        {"SPILLWAY_MODE", ""},
        {"SPILLWAY_GPU_MEM", "eight"},
        {"SPILLWAY_GPU_MEM", ""},
        {"SPILLWAY_HOST_MEM", "-1"},
        {"SPILLWAY_VERBOSE", "x"},
        {"SPILLWAY_VERBOSE", "99999999999999999999"},
        {"SPILLWAY_MEM_INFO", "both"},
        {"SPILLWAY_LAUNCHED", "maybe"},
    };
    struct spill_config c;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        setenv(bad[i][0], bad[i][1], 1);
        if (spill_config_read(&c) != SPILL_ERR_INVAL || c.mode != SPILL_MODE_OFF)
            fail_msg("%s='%s' was taken", bad[i][0], bad[i][1]);
        unsetenv(bad[i][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, clean),
        cmocka_unit_test_setup(values, clean),
        cmocka_unit_test_setup(misread_turns_off, clean),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
