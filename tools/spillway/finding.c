/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/spillway/command.h"
#include "tools/spillway/jsonout.h"
#include "tools/spillway/outfile.h"

enum { SCHEMA = 1, MARGIN = 20, WIDTH = 79 };

static const struct {
    const char *word, *color;
} levels[] = {
    [SPILL_FINDING_OK] = {"ok", "\033[32m"},
    [SPILL_FINDING_WARN] = {"warning", "\033[33m"},
    [SPILL_FINDING_BAD] = {"problem", "\033[31m"},
};

void spill_finding_add(struct spill_findings *all, enum spill_finding_level level,
                       const char *topic, const char *cure, const char *format, ...)
{
    struct spill_finding finding = {.level = level, .topic = topic};
    va_list args;
    va_start(args, format);
    if (vasprintf(&finding.text, format, args) < 0)
        finding.text = NULL;
    va_end(args);
    finding.cure = cure != NULL ? strdup(cure) : NULL;
    struct spill_finding *list = realloc(all->list, (all->count + 1) * sizeof(*list));
    if (list != NULL)
        all->list = list;
    if (list == NULL || finding.text == NULL || (cure != NULL && finding.cure == NULL)) {
        all->lost = true;
        free(finding.text);
        free(finding.cure);
        return;
    }
    list[all->count++] = finding;
}

enum spill_finding_level spill_finding_worst(const struct spill_findings *all)
{
    enum spill_finding_level worst = SPILL_FINDING_OK;
    for (size_t i = 0; i < all->count; i++)
        worst = all->list[i].level > worst ? all->list[i].level : worst;
    return worst;
}

static bool in_color(FILE *out)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(out)) && (none == NULL || *none == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

/* TEXT, which begins in column MARGIN, on lines of at most WIDTH columns. */
static void print_wrapped(const char *text, FILE *out)
{
    size_t column = MARGIN;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column > MARGIN && column + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", MARGIN, "");
            column = MARGIN;
        } else if (column > MARGIN) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)len, text);
        column += len;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', out);
}

bool spill_finding_print(const struct spill_findings *all, FILE *out)
{
    size_t count[3] = {0};
    bool color = in_color(out);
    for (size_t i = 0; i < all->count; i++) {
        const struct spill_finding *finding = &all->list[i];
        count[finding->level]++;
        fprintf(out, "%s%-7s%s  %-10s ", color ? levels[finding->level].color : "",
                levels[finding->level].word, color ? "\033[0m" : "", finding->topic);
        print_wrapped(finding->text, out);
        if (finding->cure != NULL) {
            fprintf(out, "%*s", MARGIN - 3, "");
            fputs("-> ", out);
            print_wrapped(finding->cure, out);
        }
    }
    fprintf(out, "%zu problem%s, %zu warning%s, %zu fine\n", count[SPILL_FINDING_BAD],
            count[SPILL_FINDING_BAD] == 1 ? "" : "s", count[SPILL_FINDING_WARN],
            count[SPILL_FINDING_WARN] == 1 ? "" : "s", count[SPILL_FINDING_OK]);
    return !ferror(out) && !all->lost;
}

bool spill_finding_json(const struct spill_findings *all, FILE *out)
{
    struct spill_json json = {.out = out};
    spill_json_open(&json, NULL, '{', true);
    spill_json_count(&json, "schema", SCHEMA);
    spill_json_text(&json, "worst", levels[spill_finding_worst(all)].word);
    spill_json_open(&json, "findings", '[', true);
    for (size_t i = 0; i < all->count; i++) {
        spill_json_open(&json, NULL, '{', false);
        spill_json_text(&json, "level", levels[all->list[i].level].word);
        spill_json_text(&json, "topic", all->list[i].topic);
        spill_json_text(&json, "text", all->list[i].text);
        spill_json_text(&json, "cure", all->list[i].cure);
        spill_json_close(&json);
    }
    spill_json_close(&json);
    spill_json_close(&json);
    return !ferror(out) && !all->lost;
}

int spill_finding_answer(struct spill_findings *all, const struct spill_outoptions *out)
{
    struct spill_outfile file;
    int status = spill_finding_worst(all) == SPILL_FINDING_BAD ? SPILL_EXIT_PROBLEM : 0;
    if (!spill_outfile_open(&file, out->path, out->force) ||
        !spill_outfile_close(&file, out->json ? spill_finding_json(all, file.out)
                                              : spill_finding_print(all, file.out)))
        status = SPILL_EXIT_FILE;
    spill_finding_free(all);
    return status;
}

void spill_finding_free(struct spill_findings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].text);
        free(all->list[i].cure);
    }
    free(all->list);
    *all = (struct spill_findings){NULL, 0, false};
}
