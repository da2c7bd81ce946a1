/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/imports.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/spillway/locate.h"

enum { FILES_MOST = 128, LINE = 4096, NAME = 256 };
#define TEXT_MOST ((size_t)1 << 20) /* bytes of a file that are read */

static const struct {
    const char *package;
    enum spill_framework framework;
} packages[] = {
    {"torch", SPILL_FRAMEWORK_PYTORCH},
    {"torchvision", SPILL_FRAMEWORK_PYTORCH},
    {"torchaudio", SPILL_FRAMEWORK_PYTORCH},
    {"torchtune", SPILL_FRAMEWORK_PYTORCH},
    {"lightning", SPILL_FRAMEWORK_PYTORCH},
    {"pytorch_lightning", SPILL_FRAMEWORK_PYTORCH},
    {"accelerate", SPILL_FRAMEWORK_PYTORCH},
    {"deepspeed", SPILL_FRAMEWORK_PYTORCH},
    {"transformers", SPILL_FRAMEWORK_PYTORCH},
    {"diffusers", SPILL_FRAMEWORK_PYTORCH},
    {"timm", SPILL_FRAMEWORK_PYTORCH},
    {"peft", SPILL_FRAMEWORK_PYTORCH},
    {"trl", SPILL_FRAMEWORK_PYTORCH},
    {"jax", SPILL_FRAMEWORK_JAX},
    {"flax", SPILL_FRAMEWORK_JAX},
    {"optax", SPILL_FRAMEWORK_JAX},
    {"haiku", SPILL_FRAMEWORK_JAX},
    {"equinox", SPILL_FRAMEWORK_JAX},
    {"tensorflow", SPILL_FRAMEWORK_TENSORFLOW},
    {"keras", SPILL_FRAMEWORK_TENSORFLOW},
};

/* Programs that start the program named in their arguments. */
static const char *const launchers[] = {"env",     "nice",   "nohup",  "numactl", "taskset", "time",
                                        "timeout", "stdbuf", "mpirun", "mpiexec", "srun",    "uv",
                                        "poetry",  "conda",  "pipenv", "sh",      "bash"};
static const char *const torch_launchers[] = {"torchrun", "accelerate", "deepspeed"};

struct search {
    unsigned found;
    char *files[FILES_MOST]; /* read, or to be read */
    unsigned count;
    const char *folder; /* of the script; sys.path[0] */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_among(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}
#define IS_AMONG(list, name) is_among(list, sizeof(list) / sizeof((list)[0]), name)

static bool is_python(const char *path)
{
    return fnmatch("python", base_name(path), 0) == 0 ||
           fnmatch("python[0-9]*", base_name(path), 0) == 0;
}

/* Notes that PATH is to be read, if it is a file and new. */
static void add_file(struct search *search, const char *path)
{
    struct stat st;
    if (search->count == FILES_MOST || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    for (unsigned i = 0; i < search->count; i++)
        if (strcmp(search->files[i], path) == 0)
            return;
    char *copy = strdup(path);
    if (copy != NULL)
        search->files[search->count++] = copy;
}

/* The files of the module NAME ("a.b") under FOLDER: those of its packages, too, run. */
static void add_under(struct search *search, const char *folder, size_t folder_len,
                      const char *name)
{
    char path[PATH_MAX];
    size_t used = (size_t)snprintf(path, sizeof(path), "%.*s/", (int)folder_len, folder);
    while (*name != '\0' && used + NAME < sizeof(path)) {
        size_t len = strcspn(name, ".");
        if (len >= NAME / 2)
            return;
        memcpy(path + used, name, len);
        used += len;
        strcpy(path + used, ".py");
        add_file(search, path);
        strcpy(path + used, "/__init__.py");
        add_file(search, path);
        path[used++] = '/';
        name += len + (name[len] == '.');
    }
}

/* The module NAME was imported in a file of FOLDER (of a package, where leading dots count). */
static void add_module(struct search *search, const char *folder, const char *name)
{
    size_t len = strcspn(name, ".");
    for (unsigned i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
        if (strlen(packages[i].package) == len && strncmp(packages[i].package, name, len) == 0)
            search->found |= packages[i].framework;
    if (name[0] == '.') {
        size_t folder_len = strlen(folder);
        for (name++; *name == '.' && folder_len > 0; name++)
            while (folder_len > 0 && folder[--folder_len] != '/')
                ;
        add_under(search, folder, folder_len, name);
        return;
    }
    add_under(search, search->folder, strlen(search->folder), name);
    const char *more = getenv("PYTHONPATH");
    while (more != NULL && *more != '\0') {
        size_t more_len = strcspn(more, ":");
        if (more_len > 0)
            add_under(search, more, more_len, name);
        more += more_len + (more[more_len] == ':');
    }
}

/* The names in LIST ("a.b as c, d"), each after PREFIX. */
static void add_names(struct search *search, const char *folder, const char *prefix, char *list)
{
    char *rest = NULL;
    for (char *item = strtok_r(list, ",;#()", &rest); item != NULL;
         item = strtok_r(NULL, ",;#()", &rest)) {
        char name[LINE];
        item += strspn(item, " \t");
        size_t len = strcspn(item, " \t\r\n");
        if (len == 0)
            continue;
        snprintf(name, sizeof(name), "%s%.*s", prefix, (int)len, item);
        add_module(search, folder, name);
    }
}

static void read_statement(struct search *search, const char *folder, char *line)
{
    char module[LINE];
    line += strspn(line, " \t");
    if (strncmp(line, "import ", 7) == 0) {
        add_names(search, folder, "", line + 7);
        return;
    }
    if (strncmp(line, "from ", 5) != 0)
        return;
    line += 5 + strspn(line + 5, " \t");
    size_t len = strcspn(line, " \t");
    char *names = strstr(line + len, "import ");
    if (names == NULL || len == 0)
        return;
    bool dots = strspn(line, ".") == len;
    snprintf(module, NAME, "%.*s", (int)len, line);
    if (!dots)
        add_module(search, folder, module);
    /* What is imported from a package may be a module of it. */
    if (strlen(module) == len && len + 1 < sizeof(module)) {
        if (!dots)
            strcat(module, ".");
        add_names(search, folder, module, names + 7);
    }
}

static void read_text(struct search *search, const char *folder, FILE *text)
{
    char line[LINE];
    size_t total = 0;
    while (fgets(line, sizeof(line), text) != NULL && (total += strlen(line)) < TEXT_MOST) {
        char *rest = NULL;
        for (char *one = strtok_r(line, ";\n", &rest); one != NULL;
             one = strtok_r(NULL, ";\n", &rest))
            read_statement(search, folder, one);
    }
    fclose(text);
}

static void read_files(struct search *search)
{
    for (unsigned i = 0; i < search->count; i++) {
        char folder[PATH_MAX];
        FILE *text = fopen(search->files[i], "re");
        const char *slash = strrchr(search->files[i], '/');
        snprintf(folder, sizeof(folder), "%.*s",
                 slash != NULL ? (int)(slash - search->files[i]) : 1,
                 slash != NULL ? search->files[i] : ".");
        if (text != NULL)
            read_text(search, folder, text);
    }
}

static void read_script(struct search *search, const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
    search->folder = folder;
    add_file(search, path);
}

static void read_code(struct search *search, const char *code)
{
    FILE *text = *code != '\0' ? fmemopen((void *)(uintptr_t)code, strlen(code), "r") : NULL;
    if (text != NULL)
        read_text(search, ".", text);
}

/* ARGV: what follows the interpreter. */
static void read_python(struct search *search, char *const *argv, char folder[PATH_MAX])
{
    for (; *argv != NULL && **argv == '-'; argv++) {
        for (const char *letter = *argv + 1; *letter != '\0' && *letter != '-'; letter++) {
            if (strchr("cmWX", *letter) == NULL)
                continue;
            const char *value = letter[1] != '\0' ? letter + 1 : *++argv;
            if (value == NULL)
                return;
            if (*letter == 'c')
                read_code(search, value);
            else if (*letter == 'm') {
                char path[NAME + sizeof(".__main__")];
                add_module(search, ".", value);
                snprintf(path, sizeof(path), "%.*s.__main__", NAME - 1, value);
                add_module(search, ".", path);
            }
            if (*letter == 'c' || *letter == 'm')
                return;
            break;
        }
    }
    if (*argv != NULL)
        read_script(search, *argv, folder);
}

/* Is PATH a text that Python runs? */
static bool is_script(const char *path)
{
    char line[NAME] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool python = fgets(line, sizeof(line), file) != NULL && strncmp(line, "#!", 2) == 0 &&
                  strstr(line, "python") != NULL;
    fclose(file);
    return python;
}

unsigned spill_imports_find(char *const *argv)
{
    struct search search = {.folder = "."};
    char path[PATH_MAX], folder[PATH_MAX];
    bool launched = IS_AMONG(launchers, base_name(argv[0]));
    for (unsigned i = 0; argv[i] != NULL && (i == 0 || launched); i++) {
        const char *name = base_name(argv[i]);
        size_t len = strlen(name);
        if (IS_AMONG(torch_launchers, name)) {
            search.found |= SPILL_FRAMEWORK_PYTORCH;
        } else if (is_python(name)) {
            read_python(&search, argv + i + 1, folder);
        } else if (i > 0 && len > 3 && strcmp(name + len - 3, ".py") == 0) {
            read_script(&search, argv[i], folder);
        } else if (!IS_AMONG(launchers, name) && spill_locate_program(argv[i], path) == 0 &&
                   is_script(path)) {
            read_script(&search, path, folder);
        } else {
            continue;
        }
        break;
    }
    read_files(&search);
    for (unsigned i = 0; i < search.count; i++)
        free(search.files[i]);
    return search.found;
}
