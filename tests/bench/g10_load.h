/* SPDX-License-Identifier: Apache-2.0 */
/* The G10 traces under their published setting. */
#ifndef SPILL_G10_LOAD_H
#define SPILL_G10_LOAD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/textform.h"

/* All of PATH, terminated; NULL when it cannot be read. */
static inline char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    long size;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        text = calloc(1, (size_t)size + 1);
        if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

/* Reads PATH: GPU memory of 40 GiB, 15.754 GB/s each way, 45 us a copy, pages of 2 MiB, host memory
 * without limit; kernel times divided by DIVISOR. False after one line. */
static inline bool g10_load(const char *path, uint64_t divisor, struct spill_textform *form)
{
    char complaint[128] = "cannot be read";
    char *text = read_file(path);
    bool good = text != NULL && spill_textform_read(text, strlen(text), form, complaint,
                                                    sizeof(complaint)) == SPILL_OK;

    free(text);
    if (!good) {
        fprintf(stderr, "%s: %s\n", path, complaint);
        return false;
    }
    for (uint32_t k = 0; k < form->problem.op_count; k++)
        form->ops[k].duration_ns /= divisor;
    form->problem.out = form->problem.in = (struct spill_link){45000, UINT64_C(15754000000)};
    form->problem.duplex_permille = 1000;
    form->problem.page_bytes = 2u << 20;
    form->problem.gpu_budget = UINT64_C(40) << 30;
    form->problem.host_budget = UINT64_MAX;
    return true;
}

#endif
