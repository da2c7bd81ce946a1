/* SPDX-License-Identifier: Apache-2.0 */
/* The report page's files, as they are in tools/page, inside the command. */
#define ASSET(name, file)          \
    .globl name;                   \
    .hidden name;                  \
    .type name, @object;           \
    name:                          \
    .incbin file;                  \
    .byte 0;                       \
    .size name, . - name

    .section .rodata
ASSET(spill_page_body, "tools/page/body.html")
ASSET(spill_page_style, "tools/page/page.css")
ASSET(spill_page_script_base, "tools/page/base.js")
ASSET(spill_page_script_tables, "tools/page/tables.js")
ASSET(spill_page_script_charts, "tools/page/charts.js")
ASSET(spill_page_script_main, "tools/page/main.js")
ASSET(spill_page_uplot_licence, "tools/page/vendor/uPlot.LICENSE")
ASSET(spill_page_uplot_style, "tools/page/vendor/uPlot.min.css")
ASSET(spill_page_uplot_script, "tools/page/vendor/uPlot.iife.min.js")

    .section .note.GNU-stack,"",@progbits
