/* SPDX-License-Identifier: Apache-2.0 */
/* The report page: one file that asks for no other. Its numbers are the JSON report's, embedded as
 * they are; everything seen is drawn from them in the browser by tools/page. */
#include "tools/spillway/facts.h"

#include "tools/spillway/jsonout.h"
#include "tools/spillway/page_assets.h"
#include "tools/spillway/tracetext.h"

/* Text, not markup, into OUT. */
static void write_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
}

static void write_element(const char *name, const char *content, FILE *out)
{
    fprintf(out, "<%s>\n%s</%s>\n", name, content, name);
}

/* The policy forbids the page every request, so that a mistake here cannot make one either. */
static void write_head(const char *program, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
          "base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"spillway " SPILL_VERSION "\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    write_text(program, out);
    fputs(" &ndash; Spillway report</title>\n", out);
    write_element("style", spill_page_uplot_style, out);
    write_element("style", spill_page_style, out);
    fputs("</head>\n", out);
}

bool spill_report_html(const struct spill_facts *facts, FILE *out)
{
    struct spill_json json = {.out = out, .html = true};
    write_head(spill_tracetext_name(facts->trace, facts->trace->program, "Unnamed program"), out);
    fprintf(out, "<body>\n%s<script type=\"application/json\" id=\"report\">\n", spill_page_body);
    spill_json_open(&json, NULL, '{', true);
    spill_report_json_head(facts, &json);
    spill_json_close(&json);
    fputs("</script>\n", out);
    fprintf(out, "<!-- uPlot, the next script and the first style:\n%s-->\n",
            spill_page_uplot_licence);
    write_element("script", spill_page_uplot_script, out);
    write_element("script", spill_page_script_base, out);
    write_element("script", spill_page_script_tables, out);
    write_element("script", spill_page_script_charts, out);
    write_element("script", spill_page_script_main, out);
    fputs("</body>\n</html>\n", out);
    return !ferror(out);
}
