/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "tools/spillway/command.h"
#include "tools/spillway/elfcheck.h"
#include "tools/spillway/locate.h"
#include "tools/spillway/recipe.h"

/* Must a preload of this name, LENGTH letters, come before all others? */
static bool comes_first(const char *word, size_t length)
{
    static const char *const runtimes[] = {"libasan.so", "libtsan.so", "libclang_rt."};
    const char *slash = memrchr(word, '/', length);
    const char *name = slash == NULL ? word : slash + 1;
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        if (length - (size_t)(name - word) >= strlen(runtimes[i]) &&
            strncmp(name, runtimes[i], strlen(runtimes[i])) == 0)
            return true;
    return false;
}

/* ITEM, then those words of the variable NAME that are not ITEM itself; a sanitizer's runtime that
 * leads them still does. */
static bool prepend(const char *name, const char *item, const char *separators, char joint)
{
    const char *old = getenv(name) != NULL ? getenv(name) : "";
    char *list = malloc(strlen(item) + strlen(old) + 2), *end = list;
    bool placed = false;
    if (list == NULL)
        return false;
    for (;;) {
        old += strspn(old, separators);
        size_t length = strcspn(old, separators);
        if (!placed && !comes_first(old, length)) {
            end += sprintf(end, "%s%s", end == list ? "" : (char[]){joint, '\0'}, item);
            placed = true;
        }
        if (length == 0)
            break;
        if (strlen(item) != length || strncmp(old, item, length) != 0)
            end +=
                sprintf(end, "%s%.*s", end == list ? "" : (char[]){joint, '\0'}, (int)length, old);
        old += length;
    }
    bool done = setenv(name, list, 1) == 0;
    free(list);
    return done;
}

/* ld.so splits LD_PRELOAD at spaces and colons, LD_LIBRARY_PATH at colons and semicolons; neither
 * can quote. A folder with a space is therefore searched, not named. */
bool spill_launch_preload(const char *dir)
{
    char path[PATH_MAX + 32];
    if (strpbrk(dir, ":;") != NULL) {
        spill_log(SPILL_LOG_ERROR,
                  "%s cannot be preloaded from %s: the loader splits names at ':' and ';'; move it",
                  spill_locate_library_name, dir);
        return false;
    }
    if (strchr(dir, ' ') == NULL) {
        snprintf(path, sizeof(path), "%s/%s", dir, spill_locate_library_name);
        return prepend("LD_PRELOAD", path, " :", ':');
    }
    return prepend("LD_LIBRARY_PATH", dir, ":;", ':') &&
           prepend("LD_PRELOAD", spill_locate_library_name, " :", ':');
}

static bool set_number(const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return setenv(name, text, 1) == 0;
}

static bool set_environment(const struct spill_launch *launch)
{
    static const int levels[] = {
        [SPILL_LAUNCH_ERRORS] = 0,
        [SPILL_LAUNCH_WARNINGS] = 1,
        [SPILL_LAUNCH_EVERYTHING] = 3,
    };
    return setenv("SPILLWAY_MODE", launch->mode != NULL ? launch->mode : "offload",
                  launch->mode != NULL) == 0 &&
           setenv("SPILLWAY_LAUNCHED", "1", 1) == 0 &&
           (launch->output == NULL || setenv("SPILLWAY_OUTPUT", launch->output, 1) == 0) &&
           (launch->gpu_mem == 0 || set_number("SPILLWAY_GPU_MEM", launch->gpu_mem)) &&
           (launch->host_mem == 0 || set_number("SPILLWAY_HOST_MEM", launch->host_mem)) &&
           (launch->verbosity == SPILL_LAUNCH_DEFAULT ||
            set_number("SPILLWAY_VERBOSE", (uint64_t)levels[launch->verbosity]));
}

/* NVTX loads one tool, which its environment names. */
static bool inject_nvtx(const char *dir)
{
    static const char name[] = "NVTX_INJECTION64_PATH";
    const char *iteration = getenv("SPILLWAY_ITERATION"), *tool = getenv(name);
    char path[PATH_MAX + 32];
    if (iteration == NULL || strncmp(iteration, "nvtx:", 5) != 0)
        return true;
    if (tool != NULL && *tool != '\0') {
        spill_log(SPILL_LOG_WARN,
                  "%s is %s: its ranges do not come here, iterations are not marked", name, tool);
        return true;
    }
    snprintf(path, sizeof(path), "%s/%s", dir, spill_locate_library_name);
    return setenv(name, path, 1) == 0;
}

/* The frameworks' switches, unless nothing is to be done at all. */
static bool use_recipe(const struct spill_launch *launch)
{
    const char *verbose = getenv("SPILLWAY_VERBOSE");
    bool tell = verbose == NULL || strtol(verbose, NULL, 10) >= SPILL_LOG_INFO;
    return launch->skip_recipe || strcmp(getenv("SPILLWAY_MODE"), "off") == 0 ||
           spill_recipe_apply(launch->argv, tell);
}

/* Loading the driver in the launcher costs a few milliseconds and turns a stack trace from the
 * depths of a framework into one line. */
static bool driver_present(void)
{
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != NULL)
        return true;
    spill_log(SPILL_LOG_ERROR,
              "no CUDA driver (%s): install NVIDIA's driver or add its folder to LD_LIBRARY_PATH; "
              "--no-driver-check starts the program all the same",
              dlerror());
    return false;
}

int spill_launch_failed(const struct spill_launch *launch, int error)
{
    spill_log(SPILL_LOG_ERROR, "cannot run %s: %s", launch->argv[0], strerror(error));
    return error == ENOENT ? SPILL_EXIT_NOT_FOUND : SPILL_EXIT_CANNOT_RUN;
}

int spill_launch_prepare(const struct spill_launch *launch)
{
    char path[PATH_MAX], dir[PATH_MAX];
    int error = spill_locate_program(launch->argv[0], path);
    if (error != 0)
        return spill_launch_failed(launch, error);
    if (!spill_locate_library(dir))
        return SPILL_EXIT_NOT_FOUND;
    if (!launch->skip_driver_check && !driver_present())
        return SPILL_EXIT_NO_DRIVER;
    spill_elfcheck_warn(path);
    if (!spill_launch_preload(dir))
        return SPILL_EXIT_NOT_FOUND;
    if (!set_environment(launch) || !inject_nvtx(dir) || !use_recipe(launch)) {
        spill_log(SPILL_LOG_ERROR, "cannot set the program's environment");
        return SPILL_EXIT_NOT_FOUND;
    }
    return 0;
}
