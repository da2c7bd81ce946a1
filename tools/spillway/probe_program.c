/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/probe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/base/config.h"
#include "preload/base/glob.h"
#include "tools/spillway/elfcheck.h"
#include "tools/spillway/launch.h"
#include "tools/spillway/locate.h"

enum { DEPTH = 4, LINE = 4096 };

/* The program that runs the script PATH, after "#!" and perhaps env; false if it is no script. */
static bool interpreter_of(const char *path, char name[PATH_MAX])
{
    char line[PATH_MAX] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool script = fgets(line, sizeof(line), file) != NULL && strncmp(line, "#!", 2) == 0;
    fclose(file);
    char *rest = line + 2, *word = script ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    const char *slash = word != NULL ? strrchr(word, '/') : NULL;
    if (slash != NULL && strcmp(slash, "/env") == 0)
        while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL &&
               (*word == '-' || strchr(word, '=') != NULL))
            ;
    if (word == NULL)
        return false;
    snprintf(name, PATH_MAX, "%s", word);
    return true;
}

/* Runs LOADER --list PATH with the library preloaded: the loader says which libraries it would
 * load, as for ldd(1), and the program does not run. Its text, NULL if there is none. */
static FILE *ask_loader(const char *loader, const char *path, const char *dir, pid_t *pid)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0)
        return NULL;
    *pid = fork();
    if (*pid == 0) {
        (void)dup2(fd[1], STDOUT_FILENO);
        (void)dup2(fd[1], STDERR_FILENO);
        if (spill_launch_preload(dir))
            execl(loader, loader, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    if (*pid > 0)
        return fdopen(fd[0], "r");
    close(fd[0]);
    return NULL;
}

static void probe_loading(const char *loader, const char *path, struct spill_findings *found)
{
    char dir[PATH_MAX], line[LINE], complaint[LINE] = "";
    bool ours = false, driver = false, runtime = false;
    pid_t pid;
    int status;
    if (!spill_locate_library(dir)) {
        spill_finding_add(found, SPILL_FINDING_BAD, "library", "build or install spillway again",
                          "%s was not found", spill_locate_library_name);
        return;
    }
    FILE *list = ask_loader(loader, path, dir, &pid);
    while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        ours |= strstr(line, spill_locate_library_name) != NULL && strstr(line, "ERROR") == NULL;
        driver |= strstr(line, "libcuda.so") != NULL;
        runtime |= strstr(line, "libcudart.so") != NULL;
        if (strstr(line, "ERROR") != NULL || strstr(line, "error") != NULL)
            snprintf(complaint, sizeof(complaint), "%s", line);
    }
    if (list != NULL) {
        fclose(list);
        (void)waitpid(pid, &status, 0);
    }
    if (!ours)
        spill_finding_add(found, SPILL_FINDING_BAD, "hook",
                          "see whether this program runs at all, and what the loader says of it",
                          "the loader does not take %s/%s into it%s%s", dir,
                          spill_locate_library_name, complaint[0] != '\0' ? ": " : "", complaint);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "hook", NULL, "the loader takes %s/%s into it",
                          dir, spill_locate_library_name);
    spill_finding_add(found, SPILL_FINDING_OK, "cuda", NULL, "%s",
                      driver    ? "it is linked with the driver's library"
                      : runtime ? "it is linked with CUDA's runtime"
                                : "it loads no CUDA library at its start: its runtime is built in, "
                                  "or opened later, or it uses none; calls are seen in all cases");
}

/* Is it meant to act there, by the settings? */
static void probe_settings(const char *path, struct spill_findings *found)
{
    struct spill_config config;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    if (spill_config_read(&config) != SPILL_OK)
        spill_finding_add(found, SPILL_FINDING_BAD, "settings", "correct it, or unset it",
                          "a SPILLWAY_ variable is not of its form: see above");
    else if (config.mode == SPILL_MODE_OFF)
        spill_finding_add(found, SPILL_FINDING_BAD, "settings", "unset SPILLWAY_MODE",
                          "SPILLWAY_MODE=off: nothing will be done");
    else if (config.only[0] != '\0' && !spill_glob_list(config.only, base))
        spill_finding_add(found, SPILL_FINDING_BAD, "settings", "unset it, or add a pattern",
                          "SPILLWAY_ONLY=%s leaves %s out", config.only, base);
    else if (config.skip[0] != '\0' && spill_glob_list(config.skip, base))
        spill_finding_add(found, SPILL_FINDING_BAD, "settings", "unset it, or take a pattern out",
                          "SPILLWAY_SKIP=%s leaves %s out", config.skip, base);
}

static void probe_other_preloads(struct spill_findings *found)
{
    const char *others = getenv("LD_PRELOAD");
    while (others != NULL && *others != '\0') {
        size_t len = strcspn(others, " :");
        const char *ours = strstr(others, spill_locate_library_name);
        if (len > 0 && (ours == NULL || ours >= others + len))
            spill_finding_add(found, SPILL_FINDING_WARN, "preload",
                              "leave it out if it has to do with CUDA's memory, too",
                              "LD_PRELOAD also names %.*s; spillway comes before it", (int)len,
                              others);
        others += len + (others[len] != '\0');
    }
}

bool spill_probe_program(const char *name, struct spill_findings *found)
{
    char path[PATH_MAX], next[PATH_MAX], loader[PATH_MAX];
    snprintf(next, sizeof(next), "%s", name);
    for (int depth = 0; depth < DEPTH; depth++) {
        int error = spill_locate_program(next, path);
        if (error != 0) {
            spill_finding_add(found, SPILL_FINDING_BAD, "program", "give its path",
                              "cannot run %s: %s", next, strerror(error));
            return false;
        }
        if (!interpreter_of(path, next))
            break;
        spill_finding_add(found, SPILL_FINDING_OK, "program", NULL, "%s is a script for %s", path,
                          next);
    }
    enum spill_elf kind = spill_elfcheck(path, loader, sizeof(loader));
    const char *why = spill_elfcheck_text(kind);
    if (why != NULL)
        spill_finding_add(found, SPILL_FINDING_BAD, "program",
                          kind == SPILL_ELF_STATIC   ? "link it dynamically"
                          : kind == SPILL_ELF_RAISED ? "run a copy of it without those rights"
                                                     : "build it for 64 bits",
                          "%s %s", path, why);
    else if (kind == SPILL_ELF_NONE)
        spill_finding_add(found, SPILL_FINDING_BAD, "program", "give the program itself",
                          "%s is neither a program nor a script", path);
    else if (strstr(loader, "ld-musl") != NULL)
        spill_finding_add(found, SPILL_FINDING_BAD, "program", "use a build for glibc",
                          "%s is built for musl, the library for glibc", path);
    else {
        spill_finding_add(found, SPILL_FINDING_OK, "program", NULL, "%s is dynamically linked",
                          path);
        probe_loading(loader, path, found);
    }
    probe_settings(path, found);
    probe_other_preloads(found);
    return true;
}
