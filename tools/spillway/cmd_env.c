/* SPDX-License-Identifier: Apache-2.0 */
/* spillway env: the settings that the library would find, and where each comes from. */
#include <stdlib.h>
#include <string.h>

#include "preload/base/config.h"
#include "preload/base/log.h"
#include "tools/spillway/command.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/options.h"
#include "tools/spillway/outfile.h"
#include "tools/spillway/outoptions.h"

enum { SCHEMA = 1 };

static const struct setting {
    const char *name, *fallback, *unit, *doc;
} settings[] = {
#define SPILL_CONFIG(field, name, type, fallback, unit, doc) {name, fallback, unit, doc},
#include "preload/base/config.def"
#undef SPILL_CONFIG
};
enum { SETTING_COUNT = sizeof(settings) / sizeof(settings[0]) };

static const char *value_of(const struct setting *setting)
{
    const char *value = getenv(setting->name);
    return value != NULL ? value : setting->fallback;
}

static const char *source_of(const struct setting *setting)
{
    return getenv(setting->name) != NULL ? "environment" : "default";
}

/* In quotes that the shell takes off again. */
static void put_quoted(const char *text, FILE *out)
{
    fputc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

static bool print(FILE *out)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        fprintf(out, "# %s%s%s\nexport %s=", setting->doc, *setting->unit != '\0' ? "; " : "",
                setting->unit, setting->name);
        put_quoted(value_of(setting), out);
        fprintf(out, " # %s\n", source_of(setting));
    }
    return !ferror(out);
}

static bool write_json(FILE *out)
{
    struct spill_json json = {.out = out};
    spill_json_open(&json, NULL, '{', true);
    spill_json_count(&json, "schema", SCHEMA);
    spill_json_open(&json, "settings", '[', true);
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        spill_json_open(&json, NULL, '{', false);
        spill_json_text(&json, "name", setting->name);
        spill_json_text(&json, "value", value_of(setting));
        spill_json_text(&json, "source", source_of(setting));
        spill_json_text(&json, "default", setting->fallback);
        spill_json_text(&json, "unit", *setting->unit != '\0' ? setting->unit : NULL);
        spill_json_text(&json, "doc", setting->doc);
        spill_json_close(&json);
    }
    spill_json_close(&json);
    spill_json_close(&json);
    return !ferror(out);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->input;
        state->child_inputs[1] = state->input;
        return 0;
    }
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    spill_log(SPILL_LOG_ERROR, "env takes no arguments, but '%s' was given", arg);
    exit(SPILL_EXIT_USAGE);
}

static const char doc[] =
    "Print every setting with the value that the library would find in this environment, and "
    "whether that is the default: as lines that the shell can read, or as JSON. A value that is "
    "not of its form, or a name that is no setting, is told on stderr.\v"
    "Examples:\n"
    "  spillway env | grep -v '^#'\n"
    "  spillway env >settings.sh; . ./settings.sh\n"
    "  spillway env --format json | jq '.settings[] | select(.source != \"default\")'\n\n"
    "Exit status: 0; 1 a value is not of its form; 2 FILE cannot be written; 64 wrong usage.";

static const struct argp_child children[] = {{&spill_outoptions_format_argp, 0, NULL, 0},
                                             {&spill_outoptions_argp, 0, NULL, 0},
                                             {&spill_options_help_argp, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argp = {NULL, parse, "", doc, children, NULL, NULL};

static int env(int argc, char **argv)
{
    struct spill_outoptions out = {.path = NULL};
    struct spill_config config;
    struct spill_outfile file;
    int status = spill_options_parse(&argp, argc, argv, &out);
    if (status != 0)
        return status;
    bool valid = spill_config_read(&config) == SPILL_OK;
    if (!spill_outfile_open(&file, out.path, out.force) ||
        !spill_outfile_close(&file, out.json ? write_json(file.out) : print(file.out)))
        return SPILL_EXIT_FILE;
    return valid ? 0 : SPILL_EXIT_PROBLEM;
}

const struct spill_command spill_command_env = {
    "env", "print the settings in force, and where they come from", env};
