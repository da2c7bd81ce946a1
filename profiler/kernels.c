/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/kernels.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/log.h"
#include "preload/base/pinrules.h"

static struct spill_kernel *kernels;
static struct spill_kernel *last; /* launches of one kernel come in runs */

static const char *name_of(CUfunction function)
{
    const char *name = NULL;
    if (SPILL_CU(cuFuncGetName) == NULL ||
        SPILL_CU(cuFuncGetName)(&name, function) != CUDA_SUCCESS || name == NULL)
        return "kernel";
    /* The driver's text may go with its module. */
    char *copy = spill_heap_alloc(strlen(name) + 1);
    return copy == NULL ? "kernel" : strcpy(copy, name);
}

/* Offset and size of parameter INDEX. The handle that the runtime launches by is a CUkernel cast to
 * a CUfunction; whether every driver answers cuFuncGetParamInfo for it is not known, so a refusal
 * for the first parameter is put to the question for CUkernels before it is believed. */
static CUresult ask_param(struct spill_kernel *kernel, uint32_t index, size_t *offset,
                          size_t *bytes)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE, other;
    if (!kernel->by_kernel)
        result = SPILL_CU(cuFuncGetParamInfo)(kernel->function, index, offset, bytes);
    if (result == CUDA_SUCCESS || SPILL_CU(cuKernelGetParamInfo) == NULL ||
        (index > 0 && !kernel->by_kernel))
        return result;
    other = SPILL_CU(cuKernelGetParamInfo)((CUkernel)kernel->function, index, offset, bytes);
    if (other == CUDA_SUCCESS)
        kernel->by_kernel = true;
    /* Two refusals: the end of the list if either says so. */
    return other == CUDA_SUCCESS || other == CUDA_ERROR_INVALID_VALUE ? other : result;
}

static void ask_params(struct spill_kernel *kernel)
{
    size_t cap = 0, offset, bytes;
    CUresult result;
    kernel->by_kernel = false;
    while ((result = ask_param(kernel, kernel->param_count, &offset, &bytes)) == CUDA_SUCCESS) {
        if (SPILL_HEAP_GROW(kernel->params, cap, kernel->param_count + 1) != 0) {
            kernel->opaque = true;
            return;
        }
        kernel->params[kernel->param_count++] =
            (struct spill_kernel_param){(uint32_t)offset, (uint32_t)bytes};
    }
    /* INVALID_VALUE past the last index is the documented end of the list. Anything else must not
     * be read as "no parameters". */
    if (result != CUDA_ERROR_INVALID_VALUE) {
        kernel->opaque = true;
        spill_log(
            SPILL_LOG_WARN,
            "the driver does not tell the parameters of kernel %s (%s): it counts as touching "
            "every buffer",
            kernel->name, spill_driver_error(result));
    }
}

const struct spill_kernel *spill_kernels_get(CUfunction function)
{
    if (last != NULL && last->function == function)
        return last;
    struct spill_kernel *kernel = NULL;
    HASH_FIND_PTR(kernels, &function, kernel);
    if (kernel == NULL) {
        kernel = spill_heap_alloc(sizeof(*kernel));
        if (kernel == NULL)
            return NULL;
        kernel->function = function;
        kernel->name = name_of(function);
        kernel->held = spill_pinrules_kernel(kernel->name);
        ask_params(kernel);
        HASH_ADD_PTR(kernels, function, kernel);
    } else if (kernel->stale) {
        /* Old names and parameters are kept: traces point to the former. */
        kernel->stale = kernel->opaque = false;
        kernel->params = NULL;
        kernel->param_count = 0;
        kernel->name = name_of(function);
        kernel->held = spill_pinrules_kernel(kernel->name);
        ask_params(kernel);
    }
    last = kernel;
    return kernel;
}

void spill_kernels_forget(void)
{
    for (struct spill_kernel *kernel = kernels; kernel != NULL; kernel = kernel->hh.next)
        kernel->stale = true;
    last = NULL;
}
