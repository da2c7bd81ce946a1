/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of errors. The names are generated from cuda.h by simgpu.mk; the texts of the
 * common ones are written here, the rest is told by its name. */
#include <stddef.h>
#include <string.h>

#include "core.h"

static const struct {
    CUresult error;
    const char *name;
} names[] = {
#define ERROR_NAME(name) {name, #name},
#include "error_names.inc"
#undef ERROR_NAME
};

const char *simgpu_error_name(CUresult error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    return NULL;
}

const char *simgpu_error_text(CUresult error)
{
    switch (error) {
    case CUDA_SUCCESS:
        return "no error";
    case CUDA_ERROR_INVALID_VALUE:
        return "invalid argument";
    case CUDA_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case CUDA_ERROR_NOT_INITIALIZED:
        return "initialization error";
    case CUDA_ERROR_INVALID_DEVICE:
        return "invalid device ordinal";
    case CUDA_ERROR_INVALID_CONTEXT:
        return "invalid device context";
    case CUDA_ERROR_INVALID_HANDLE:
        return "invalid resource handle";
    case CUDA_ERROR_NOT_FOUND:
        return "named symbol not found";
    case CUDA_ERROR_NOT_READY:
        return "device not ready";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
        return "an illegal memory access was encountered";
    case CUDA_ERROR_LAUNCH_FAILED:
        return "unspecified launch failure";
    case CUDA_ERROR_ASSERT:
        return "device-side assert triggered";
    case CUDA_ERROR_NOT_SUPPORTED:
        return "operation not supported";
    case CUDA_ERROR_NOT_PERMITTED:
        return "operation not permitted";
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        return "part or all of the requested memory range is already mapped";
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
        return "pointer does not correspond to a registered memory region";
    case CUDA_ERROR_INVALID_IMAGE:
        return "device kernel image is invalid";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        return "no kernel image is available for execution on the device";
    default:
        return simgpu_error_name(error);
    }
}

CUresult simgpu_cuGetErrorName(CUresult error, const char **text)
{
    if (text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *text = simgpu_error_name(error);
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuGetErrorString(CUresult error, const char **text)
{
    if (text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *text = simgpu_error_text(error);
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
