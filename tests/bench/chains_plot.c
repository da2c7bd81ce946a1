/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/chains_plot.h"

#include <math.h>
#include <stdio.h>

enum { ACROSS = 3, WIDE = 380, HIGH = 290, LEFT = 56, RIGHT = 14, TOP = 30, BOTTOM = 46 };
enum { LEGEND_ACROSS = 5, LEGEND_HIGH = 22, FOOT = 30, COLOURS = 10 };

static const char *const colours[COLOURS] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                             "#8c564b", "#e377c2", "#7f7f7f", "#17becf", "#bcbd22"};
static const char *const dashes[] = {"", "6 3", "2 3"};

/* How line M is drawn: the first, ours, thick and black; the second, the bound, dashed and black.
 */
static void put_style(FILE *out, uint32_t m)
{
    if (m < 2)
        fprintf(out, "class=\"own\" fill=\"none\" stroke-width=\"%s\" stroke-dasharray=\"%s\"",
                m == 0 ? "3" : "1.5", m == 0 ? "" : "5 4");
    else
        fprintf(out,
                "fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\" "
                "stroke-opacity=\"0.85\"",
                colours[(m - 2) % COLOURS], dashes[(m - 2) / COLOURS % 3]);
}

static double nice_step(double span)
{
    double power = pow(10, floor(log10(span / 4)));

    return span / power > 20 ? 5 * power : span / power > 8 ? 2 * power : power;
}

struct frame {
    double left, top, x_low, x_high, y_high;
};

static double x_of(const struct frame *f, double gib)
{
    return f->left + LEFT + (gib - f->x_low) / (f->x_high - f->x_low) * (WIDE - LEFT - RIGHT);
}

static double y_of(const struct frame *f, double slowdown)
{
    return f->top + HIGH - BOTTOM - (slowdown - 1) / (f->y_high - 1) * (HIGH - TOP - BOTTOM);
}

static void draw_axes(const struct frame *f, const char *title, FILE *out)
{
    double x_step = nice_step(f->x_high - f->x_low), y_step = nice_step(f->y_high - 1);
    double middle = f->left + (LEFT + WIDE - RIGHT) / 2.0;

    fprintf(out,
            "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\" font-weight=\"bold\">%s</text>\n",
            middle, f->top + 18, title);
    for (double x = ceil(f->x_low / x_step) * x_step; x <= f->x_high + 1e-9; x += x_step)
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                x_of(f, x), x_of(f, x), f->top + TOP, f->top + HIGH - BOTTOM, x_of(f, x),
                f->top + HIGH - BOTTOM + 15, x);
    for (double y = 1; y <= f->y_high + 1e-9; y += y_step)
        fprintf(out,
                "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                f->left + LEFT, f->left + WIDE - RIGHT, y_of(f, y), y_of(f, y), f->left + LEFT - 6,
                y_of(f, y) + 4, y);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">memory (GiB)</text>\n", middle,
            f->top + HIGH - 12);
    fprintf(
        out,
        "<text transform=\"translate(%.0f %.0f) rotate(-90)\" text-anchor=\"middle\">step time / "
        "without limit</text>\n",
        f->left + 16, f->top + (TOP + HIGH - BOTTOM) / 2.0);
}

static void draw_panel(const struct panel *panel, uint32_t index, uint32_t methods, FILE *out)
{
    struct frame f = {.left = index % ACROSS * WIDE,
                      .top = (double)(index / ACROSS) * HIGH,
                      .x_low = panel->gib[0],
                      .x_high = panel->gib[PLOT_BUDGETS - 1],
                      .y_high = 1.05};

    for (uint32_t m = 0; m < methods; m++)
        for (int i = 0; i < PLOT_BUDGETS; i++)
            f.y_high = fmax(f.y_high, panel->slowdown[m][i]);
    f.x_high = f.x_high > f.x_low ? f.x_high : f.x_low + 1;
    draw_axes(&f, panel->title, out);
    for (uint32_t m = methods; m-- > 0;) { /* ours last, on top */
        fprintf(out, "<polyline points=\"");
        for (int i = 0; i < PLOT_BUDGETS; i++)
            if (panel->slowdown[m][i] > 0)
                fprintf(out, "%.1f,%.1f ", x_of(&f, panel->gib[i]),
                        y_of(&f, panel->slowdown[m][i]));
        fprintf(out, "\" ");
        put_style(out, m);
        fprintf(out, "/>\n");
    }
}

bool chains_plot(const char *path, const struct panel *panels, uint32_t count,
                 const char *const *names, uint32_t methods)
{
    uint32_t rows = (count + ACROSS - 1) / ACROSS;
    uint32_t lines = (methods + LEGEND_ACROSS - 1) / LEGEND_ACROSS;
    FILE *out = fopen(path, "w");
    bool written;

    if (out == NULL)
        return false;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<title>Step time of networks as chains over memory, by planning method</title>\n"
            "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
            "<style>svg{background:#fff}text{fill:#222}.grid{stroke:#ddd}.own{stroke:#000}"
            "@media(prefers-color-scheme:dark){svg{background:#181818}text{fill:#ddd}"
            ".grid{stroke:#3a3a3a}.own{stroke:#fff}}</style>\n",
            ACROSS * WIDE, rows * HIGH + lines * LEGEND_HIGH + FOOT);
    for (uint32_t i = 0; i < count; i++)
        draw_panel(&panels[i], i, methods, out);
    for (uint32_t m = 0; m < methods; m++) {
        uint32_t x = m % LEGEND_ACROSS * (ACROSS * WIDE / LEGEND_ACROSS) + LEFT;
        uint32_t y = rows * HIGH + 12 + m / LEGEND_ACROSS * LEGEND_HIGH;

        fprintf(out, "<line x1=\"%u\" x2=\"%u\" y1=\"%u\" y2=\"%u\" ", x, x + 34, y, y);
        put_style(out, m);
        fprintf(out, "/><text x=\"%u\" y=\"%u\">%s</text>\n", x + 42, y + 4, names[m]);
    }
    fprintf(out, "</svg>\n");
    written = !ferror(out);
    return fclose(out) == 0 && written;
}
