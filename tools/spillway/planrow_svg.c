/* SPDX-License-Identifier: Apache-2.0 */
/* The curve "how much slower with less memory" as one SVG picture without scripts or fonts. */
#include "tools/spillway/planrow.h"

#include "solver/realmath.h"

enum { WIDTH = 720, HEIGHT = 420, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 60, TICKS = 6 };

struct axis {
    double low, high, step;
};

/* From LOW, which is not negative, to HIGH in steps of 1, 2 or 5 times a power of ten. */
static struct axis make_axis(double low, double high)
{
    double span = high > low ? high - low : (high > 0 ? high : 1);
    double power = 1;
    while (10 * power <= span / TICKS)
        power *= 10;
    while (power > span / TICKS)
        power /= 10;
    double step = power;
    while (span / step > TICKS)
        step = step < 1.5 * power ? 2 * power : step < 3 * power ? 5 * power : 10 * power;
    return (struct axis){(double)(int64_t)(low / step) * step,
                         (double)spill_real_up(high / step + 1e-9) * step, step};
}

static double x_of(const struct axis *x, double value)
{
    return LEFT + (value - x->low) / (x->high - x->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axis *y, double value)
{
    return HEIGHT - BOTTOM - (value - y->low) / (y->high - y->low) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(const struct axis *x, const struct axis *y, const char *unit, FILE *out)
{
    for (double v = x->low; v <= x->high + x->step / 2; v += x->step)
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                x_of(x, v), x_of(x, v), TOP, HEIGHT - BOTTOM, x_of(x, v), HEIGHT - BOTTOM + 18, v);
    for (double v = y->low; v <= y->high + y->step / 2; v += y->step)
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, WIDTH - RIGHT, y_of(y, v), y_of(y, v), LEFT - 8, y_of(y, v) + 4, v);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">GPU memory (%s)</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, unit);
    fprintf(out,
            "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">Step time "
            "(ms)</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

bool spill_planrow_svg(const struct spill_planrow *rows, uint32_t count, FILE *out)
{
    double slowest = 0, ideal = 0, most = (double)rows[count - 1].gpu_bytes;
    bool large = most >= 4.0 * (1 << 30);
    double unit = large ? (double)(1 << 30) : (double)(1 << 20);
    for (uint32_t i = 0; i < count; i++) {
        slowest = spill_real_max(slowest, (double)rows[i].step_ns / 1e6);
        ideal = spill_real_max(ideal, (double)rows[i].ideal_ns / 1e6);
    }
    struct axis x = make_axis((double)rows[0].gpu_bytes / unit, most / unit);
    struct axis y = make_axis(0, slowest); /* from 0: a slope must not look worse than it is */
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<title>Step time over GPU memory, predicted</title>\n"
            "<style>svg{background:#fff}text{fill:#222}.grid{stroke:#ddd}"
            ".step{stroke:#1f5fa8;fill:none;stroke-width:2}.dot{fill:#1f5fa8}"
            ".ideal{stroke:#b35900;stroke-dasharray:6 4}"
            "@media(prefers-color-scheme:dark){svg{background:#181818}text{fill:#ddd}"
            ".grid{stroke:#3a3a3a}.step{stroke:#7db4f0}.dot{fill:#7db4f0}"
            ".ideal{stroke:#f0a860}}</style>\n",
            WIDTH, HEIGHT);
    draw_axes(&x, &y, large ? "GiB" : "MiB", out);
    fprintf(out, "<line class=\"ideal\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
            WIDTH - RIGHT, y_of(&y, ideal), y_of(&y, ideal));
    fputs("<polyline class=\"step\" points=\"", out);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].fits)
            fprintf(out, "%.1f,%.1f ", x_of(&x, (double)rows[i].gpu_bytes / unit),
                    y_of(&y, (double)rows[i].step_ns / 1e6));
    fputs("\"/>\n", out);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].fits)
            fprintf(out, "<circle class=\"dot\" r=\"3\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
                    x_of(&x, (double)rows[i].gpu_bytes / unit),
                    y_of(&y, (double)rows[i].step_ns / 1e6));
    fprintf(out,
            "<line class=\"step\" x1=\"%d\" x2=\"%d\" y1=\"20\" y2=\"20\"/><text x=\"%d\" "
            "y=\"24\">predicted step (%s)</text>\n"
            "<line class=\"ideal\" x1=\"%d\" x2=\"%d\" y1=\"20\" y2=\"20\"/><text x=\"%d\" "
            "y=\"24\">without a limit</text>\n</svg>\n",
            LEFT, LEFT + 30, LEFT + 38, rows[0].method, LEFT + 260, LEFT + 290, LEFT + 298);
    return !ferror(out);
}
