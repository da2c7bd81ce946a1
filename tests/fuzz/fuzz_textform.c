/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a planning problem in text: a chain of stages or a G10 trace. */
#include <stdint.h>
#include <stdlib.h>

#include "solver/textform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spill_textform form;
    char complaint[128] = "";
    (void)spill_textform_is((const char *)data, size);
    enum spill_status status =
        spill_textform_read((const char *)data, size, &form, complaint, sizeof(complaint));
    if (status == SPILL_OK)
        spill_textform_free(&form);
    else if (complaint[0] == '\0')
        abort(); /* refused without a reason */
    return 0;
}
