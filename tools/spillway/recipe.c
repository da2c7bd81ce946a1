/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "tools/spillway/imports.h"

/* docs.pytorch.org/docs/stable/notes/cuda.html, docs.jax.dev/en/latest/gpu_memory_allocation.html,
 * www.tensorflow.org/guide/gpu */
static const struct knob {
    enum spill_framework framework;
    const char *variable, *value;
    const char *same[2]; /* who set one of these has chosen how memory is allocated, too */
} knobs[] = {
    {SPILL_FRAMEWORK_PYTORCH,
     "PYTORCH_NO_CUDA_MEMORY_CACHING",
     "1",
     {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}},
    {SPILL_FRAMEWORK_JAX, "XLA_PYTHON_CLIENT_ALLOCATOR", "platform", {NULL}},
    {SPILL_FRAMEWORK_JAX, "XLA_PYTHON_CLIENT_PREALLOCATE", "false", {NULL}},
    {SPILL_FRAMEWORK_TENSORFLOW, "TF_GPU_ALLOCATOR", "cuda_malloc_async", {NULL}},
};

static const struct {
    enum spill_framework framework;
    const char *name;
} names[] = {
    {SPILL_FRAMEWORK_PYTORCH, "PyTorch"},
    {SPILL_FRAMEWORK_JAX, "JAX"},
    {SPILL_FRAMEWORK_TENSORFLOW, "TensorFlow"},
};

enum { TEXT = 512 };

static void append(char text[TEXT], const char *joint, const char *name, const char *value)
{
    size_t used = strlen(text);
    snprintf(text + used, TEXT - used, "%s%s%s%s", used > 0 ? joint : "", name,
             value != NULL ? "=" : "", value != NULL ? value : "");
}

/* The variable by which the user has decided what KNOB is for; NULL: none. */
static const char *decided(const struct knob *knob)
{
    if (getenv(knob->variable) != NULL)
        return knob->variable;
    for (int i = 0; i < 2; i++)
        if (knob->same[i] != NULL && getenv(knob->same[i]) != NULL)
            return knob->same[i];
    return NULL;
}

bool spill_recipe_apply(char *const *argv, bool tell)
{
    unsigned used = spill_imports_find(argv);
    char who[TEXT] = "", set[TEXT] = "", kept[TEXT] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((used & names[i].framework) != 0)
            append(who, " and ", names[i].name, NULL);
    for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
        if ((used & knobs[i].framework) == 0)
            continue;
        const char *user = decided(&knobs[i]);
        if (user != NULL)
            append(kept, ", ", user, NULL);
        else if (setenv(knobs[i].variable, knobs[i].value, 1) != 0)
            return false;
        else
            append(set, " ", knobs[i].variable, knobs[i].value);
    }
    if (!tell || used == 0)
        return true;
    if (set[0] != '\0')
        append(set, ", ", "so that each tensor is an allocation of its own (or --no-recipe)", NULL);
    if (kept[0] != '\0')
        append(set, "; ", "kept as set: ", NULL);
    spill_log(SPILL_LOG_INFO, "a program with %s: %s%s", who, set, kept);
    return true;
}
