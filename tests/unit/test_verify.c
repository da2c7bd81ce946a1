/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that are checked: what comes back as it went out is counted, what does not is told. The
 * driver is a handful of functions that copy and call at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "replay/verify.h"

struct spill_driver spill_driver;

bool spill_driver_complete(void)
{
    return true;
}

const char *spill_driver_error(CUresult result)
{
    (void)result;
    return "";
}

enum { PAGE = 64, BYTES = 4096 + 3, PAGES = BYTES / PAGE + 1, SLOT = 1, OFFSET = SLOT * PAGE };

static char device_memory[8192], slab[16384];

static CUresult copy_to_host(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(dst, device_memory + src, bytes);
    return CUDA_SUCCESS;
}

static CUresult call_now(CUstream stream, CUhostFn function, void *data)
{
    (void)stream;
    function(data);
    return CUDA_SUCCESS;
}

static void a_byte_that_changes_is_told(void **state)
{
    struct spill_device dev;
    struct spill_script_move move = {.bytes = BYTES, .page_count = PAGES, .host_slot = SLOT};
    struct spill_script script = {.moves = &move, .move_count = 1, .slab_bytes = 8192};
    script.it.trace.page_bytes = PAGE;
    struct spill_verify verify;
    (void)state;
    memset(&dev, 0, sizeof(dev));
    spill_driver.p_cuMemcpyDtoHAsync_v2 = copy_to_host;
    spill_driver.p_cuLaunchHostFunc = call_now;
    assert_in_range(spill_verify_scratch(&script), BYTES, sizeof(slab) - script.slab_bytes);
    assert_int_equal(spill_verify_boot(&verify, &script, slab, PAGE), SPILL_OK);
    for (int i = 0; i < BYTES; i++)
        slab[OFFSET + i] = device_memory[i] = (char)(i * 7);

    /* Before anything went out under our eyes there is nothing to compare with. */
    assert_int_equal(spill_verify_in(&verify, &dev, &move, 0), CUDA_SUCCESS);
    assert_int_equal(spill_verify_tally.compared, 0);

    assert_int_equal(spill_verify_out(&verify, &dev, 0), CUDA_SUCCESS);
    assert_int_equal(spill_verify_in(&verify, &dev, &move, 0), CUDA_SUCCESS);
    assert_int_equal(spill_verify_tally.compared, 1);
    assert_int_equal(spill_verify_tally.different, 0);

    device_memory[BYTES - 1] ^= 1; /* the last byte, past the last whole word */
    assert_int_equal(spill_verify_in(&verify, &dev, &move, 0), CUDA_SUCCESS);
    assert_int_equal(spill_verify_tally.different, 1);
    device_memory[BYTES - 1] ^= 1;
    device_memory[0] ^= 1;
    assert_int_equal(spill_verify_in(&verify, &dev, &move, 0), CUDA_SUCCESS);
    assert_int_equal(spill_verify_tally.different, 2);
    spill_verify_drop(&verify);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_byte_that_changes_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
