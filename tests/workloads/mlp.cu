/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary CUDA program: a multi-layer perceptron with layer normalisation, dropout and
 * momentum, trained on handwritten digits (tests/data/digits.csv). Nothing of Spillway is in it.
 *
 * It allocates and frees what a framework does: activations and gradients come and go in every
 * step, weights, momentum and the data set stay. Sums run in a fixed order (no float atomics), so
 * two runs print the same digits; a wrong byte anywhere shows in the loss sooner or later.
 *
 * With --late it reads its losses back after the last step only: no step then waits for the GPU.
 *
 * Most kernels give a thread a whole row of the batch: wide buffers, few operations a byte. */
#include <cuda_runtime.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fflush(stdout);                                                                        \
            fprintf(stderr, "CUDA error: %s (%s) at %s:%d\n", cudaGetErrorString(error_),          \
                    cudaGetErrorName(error_), __FILE__, __LINE__);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    PIXELS = 64,
    WIDTH = 64,
    CLASSES = 10,
    OUTPUTS = 16, /* classes, padded to a vector's length */
    THREADS = 128,
    CHUNK = 256, /* rows whose weight gradients one thread sums */
    MAX_LAYERS = 16
};

/* ---- kernels: one thread a row unless said otherwise ---- */

__device__ unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}

/* A fresh jitter of the brightness of each image and a little noise, as augmentation. */
__global__ void augment(const float *images, float *x, int rows, unsigned seed)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    unsigned state = mix(seed * 0x9e3779b9U + row);
    float gain = 0.8f + 0.4f * (state >> 8) * (1.0f / 16777216.0f);
    for (int i = 0; i < PIXELS; i++) {
        state = state * 1664525U + 1013904223U;
        x[row * PIXELS + i] =
            images[row * PIXELS + i] * gain + 0.1f * ((state >> 8) * (1.0f / 16777216.0f) - 0.5f);
    }
}

/* z = x W + b, with W stored IN x OUT and b as its row number IN. */
template <int IN, int OUT>
__global__ void affine(const float *x, const float *w, float *z, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum[OUT];
    for (int j = 0; j < OUT; j++)
        sum[j] = w[IN * OUT + j];
    for (int k = 0; k < IN; k++) {
        float xk = x[row * IN + k];
        for (int j = 0; j < OUT; j++)
            sum[j] += xk * w[k * OUT + j];
    }
    for (int j = 0; j < OUT; j++)
        z[row * OUT + j] = sum[j];
}

__device__ float row_scale(const float *z, float *mean)
{
    float sum = 0.0f, squares = 0.0f;
    for (int j = 0; j < WIDTH; j++)
        sum += z[j];
    *mean = sum / WIDTH;
    for (int j = 0; j < WIDTH; j++)
        squares += (z[j] - *mean) * (z[j] - *mean);
    return 1.0f / sqrtf(squares / WIDTH + 1e-5f);
}

__global__ void normalize(const float *z, float *n, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float mean, scale = row_scale(z + row * WIDTH, &mean);
    for (int j = 0; j < WIDTH; j++)
        n[row * WIDTH + j] = (z[row * WIDTH + j] - mean) * scale;
}

/* a = relu(n) * mask; the mask (0 or 1/keep) is kept for the way back. */
__global__ void relu_dropout(const float *n, float *mask, float *a, int rows, float keep,
                             unsigned seed)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    unsigned state = mix(seed * 0x9e3779b9U + row);
    for (int j = 0; j < WIDTH; j++) {
        state = state * 1664525U + 1013904223U;
        float m = (state >> 8) * (1.0f / 16777216.0f) < keep ? 1.0f / keep : 0.0f;
        float v = n[row * WIDTH + j];
        mask[row * WIDTH + j] = m;
        a[row * WIDTH + j] = v > 0.0f ? v * m : 0.0f;
    }
}

/* The loss of each row and its gradient by the logits, already divided by the batch. */
__global__ void softmax_loss(const float *logits, const int *labels, float *dlogits,
                             float *row_loss, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *in = logits + row * OUTPUTS;
    float *out = dlogits + row * OUTPUTS;
    float most = in[0], total = 0.0f;
    for (int c = 1; c < CLASSES; c++)
        most = in[c] > most ? in[c] : most;
    for (int c = 0; c < CLASSES; c++) {
        out[c] = expf(in[c] - most);
        total += out[c];
    }
    int label = labels[row];
    row_loss[row] = logf(total) + most - in[label];
    for (int c = 0; c < CLASSES; c++)
        out[c] = (out[c] / total - (c == label ? 1.0f : 0.0f)) / rows;
    for (int c = CLASSES; c < OUTPUTS; c++)
        out[c] = 0.0f;
}

/* One block sums everything: a strided sum a thread, then a tree in shared memory. */
__global__ void mean_of(const float *values, float *mean, int count)
{
    __shared__ float part[THREADS];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += values[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *mean = part[0] / count;
}

/* wt = W transposed, without the bias row. One thread an element. */
__global__ void transpose(const float *w, float *wt, int in, int out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < in * out)
        wt[(i % out) * in + i / out] = w[i];
}

/* dx = dz W^T */
template <int IN, int OUT>
__global__ void affine_input_grad(const float *dz, const float *wt, float *dx, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum[IN];
    for (int k = 0; k < IN; k++)
        sum[k] = 0.0f;
    for (int j = 0; j < OUT; j++) {
        float d = dz[row * OUT + j];
        for (int k = 0; k < IN; k++)
            sum[k] += d * wt[j * IN + k];
    }
    for (int k = 0; k < IN; k++)
        dx[row * IN + k] = sum[k];
}

/* The weight gradient of CHUNK rows. One block a chunk, one thread a row of W (the last one the
 * bias). */
template <int IN, int OUT>
__global__ void affine_weight_grad(const float *x, const float *dz, float *partial)
{
    int k = threadIdx.x, first = blockIdx.x * CHUNK;
    float sum[OUT];
    for (int j = 0; j < OUT; j++)
        sum[j] = 0.0f;
    for (int row = first; row < first + CHUNK; row++) {
        float xk = k < IN ? x[row * IN + k] : 1.0f;
        for (int j = 0; j < OUT; j++)
            sum[j] += xk * dz[row * OUT + j];
    }
    for (int j = 0; j < OUT; j++)
        partial[(blockIdx.x * (IN + 1) + k) * OUT + j] = sum[j];
}

/* One thread a weight. */
__global__ void sum_chunks(const float *partial, float *grad, int count, int chunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int c = 0; c < chunks; c++)
        sum += partial[c * count + i];
    grad[i] = sum;
}

__global__ void momentum_step(float *w, float *v, const float *grad, int count, float rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    v[i] = 0.9f * v[i] + grad[i];
    w[i] -= rate * v[i];
}

/* Back through dropout, relu and the normalisation at once. */
__global__ void activation_grad(const float *da, const float *mask, const float *n, const float *z,
                                float *dz, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float dn[WIDTH], mean, scale = row_scale(z + row * WIDTH, &mean);
    float mean_dn = 0.0f, mean_dn_n = 0.0f;
    for (int j = 0; j < WIDTH; j++) {
        int i = row * WIDTH + j;
        dn[j] = n[i] > 0.0f ? da[i] * mask[i] : 0.0f;
        mean_dn += dn[j] / WIDTH;
        mean_dn_n += dn[j] * n[i] / WIDTH;
    }
    for (int j = 0; j < WIDTH; j++)
        dz[row * WIDTH + j] = scale * (dn[j] - mean_dn - n[row * WIDTH + j] * mean_dn_n);
}

__global__ void count_correct(const float *logits, const int *labels, int *correct, int rows)
{
    int right = 0;
    for (int row = 0; row < rows; row++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (logits[row * OUTPUTS + c] > logits[row * OUTPUTS + best])
                best = c;
        right += best == labels[row];
    }
    *correct = right;
}

/* ---- host ---- */

static int blocks(int threads)
{
    return (threads + THREADS - 1) / THREADS;
}

template <typename T> static T *device_array(size_t count)
{
    void *p = NULL;
    CHECK(cudaMalloc(&p, count * sizeof(T)));
    return (T *)p;
}

template <typename T> static T *device_copy(const T *host, size_t count)
{
    T *p = device_array<T>(count);
    CHECK(cudaMemcpy(p, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

struct layer {
    int in, out;
    float *w,
        *v; /* weights with the bias as last row, and their momentum: stay for the whole run */
    float *z, *n, *mask, *a; /* saved for the way back: live within one step */
};

struct model {
    struct layer layers[MAX_LAYERS];
    int hidden; /* layers[hidden] is the output layer */
    float rate;
};

static int weights(const struct layer *l)
{
    return (l->in + 1) * l->out;
}

static void model_create(struct model *m)
{
    unsigned state = 12345;
    for (int i = 0; i <= m->hidden; i++) {
        struct layer *l = &m->layers[i];
        l->in = i == 0 ? PIXELS : WIDTH;
        l->out = i == m->hidden ? OUTPUTS : WIDTH;
        size_t count = weights(l);
        float *host = (float *)calloc(count, sizeof(*host));
        for (int k = 0; k < l->in * l->out; k++) {
            state = state * 1664525U + 1013904223U;
            host[k] = ((state >> 8) / 8388608.0f - 1.0f) * sqrtf(6.0f / l->in) *
                      (i == m->hidden ? 0.3f : 1.0f);
        }
        l->w = device_copy(host, count);
        l->v = device_array<float>(count);
        CHECK(cudaMemset(l->v, 0, count * sizeof(float)));
        free(host);
    }
}

/* Leaves z, n, mask and a of every layer allocated; of the output layer, z holds the logits. */
static void forward(struct model *m, const float *x, int rows, float keep, unsigned seed)
{
    for (int i = 0; i <= m->hidden; i++) {
        struct layer *l = &m->layers[i];
        l->z = device_array<float>((size_t)rows * l->out);
        if (i == 0)
            affine<PIXELS, WIDTH><<<blocks(rows), THREADS>>>(x, l->w, l->z, rows);
        else if (i < m->hidden)
            affine<WIDTH, WIDTH><<<blocks(rows), THREADS>>>(l[-1].a, l->w, l->z, rows);
        else
            affine<WIDTH, OUTPUTS><<<blocks(rows), THREADS>>>(l[-1].a, l->w, l->z, rows);
        CHECK(cudaGetLastError());
        if (i == m->hidden)
            return;
        l->n = device_array<float>((size_t)rows * WIDTH);
        normalize<<<blocks(rows), THREADS>>>(l->z, l->n, rows);
        CHECK(cudaGetLastError());
        l->mask = device_array<float>((size_t)rows * WIDTH);
        l->a = device_array<float>((size_t)rows * WIDTH);
        relu_dropout<<<blocks(rows), THREADS>>>(l->n, l->mask, l->a, rows, keep,
                                                seed * MAX_LAYERS + i);
        CHECK(cudaGetLastError());
    }
}

static void free_saved(struct model *m, int i)
{
    struct layer *l = &m->layers[i];
    CHECK(cudaFree(l->z));
    if (i == m->hidden)
        return;
    CHECK(cudaFree(l->n));
    CHECK(cudaFree(l->mask));
    CHECK(cudaFree(l->a));
}

/* Takes dz of layer I (and frees it), updates the layer's weights; returns the gradient by its
 * input, or NULL for the first layer, where nobody needs it. */
static float *layer_backward(struct model *m, int i, const float *x, float *dz, int rows)
{
    struct layer *l = &m->layers[i];
    int chunks = rows / CHUNK;
    float *dx = NULL;
    if (i > 0) {
        float *wt = device_array<float>((size_t)l->in * l->out);
        transpose<<<blocks(l->in * l->out), THREADS>>>(l->w, wt, l->in, l->out);
        CHECK(cudaGetLastError());
        dx = device_array<float>((size_t)rows * WIDTH);
        if (i == m->hidden)
            affine_input_grad<WIDTH, OUTPUTS><<<blocks(rows), THREADS>>>(dz, wt, dx, rows);
        else
            affine_input_grad<WIDTH, WIDTH><<<blocks(rows), THREADS>>>(dz, wt, dx, rows);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(wt));
    }
    float *partial = device_array<float>((size_t)chunks * weights(l));
    if (i == 0)
        affine_weight_grad<PIXELS, WIDTH><<<chunks, PIXELS + 1>>>(x, dz, partial);
    else if (i < m->hidden)
        affine_weight_grad<WIDTH, WIDTH><<<chunks, WIDTH + 1>>>(l[-1].a, dz, partial);
    else
        affine_weight_grad<WIDTH, OUTPUTS><<<chunks, WIDTH + 1>>>(l[-1].a, dz, partial);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dz));
    float *grad = device_array<float>(weights(l));
    sum_chunks<<<blocks(weights(l)), THREADS>>>(partial, grad, weights(l), chunks);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(partial));
    momentum_step<<<blocks(weights(l)), THREADS>>>(l->w, l->v, grad, weights(l), m->rate);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(grad));
    return dx;
}

/* Leaves the loss in *DEVICE_LOSS. */
static void train_step(struct model *m, const float *images, const int *labels, float *device_loss,
                       int rows, unsigned step)
{
    float *x = device_array<float>((size_t)rows * PIXELS);
    augment<<<blocks(rows), THREADS>>>(images, x, rows, step);
    CHECK(cudaGetLastError());
    forward(m, x, rows, 0.95f, step);

    float *row_loss = device_array<float>(rows);
    float *dz = device_array<float>((size_t)rows * OUTPUTS);
    softmax_loss<<<blocks(rows), THREADS>>>(m->layers[m->hidden].z, labels, dz, row_loss, rows);
    CHECK(cudaGetLastError());
    free_saved(m, m->hidden);
    mean_of<<<1, THREADS>>>(row_loss, device_loss, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(row_loss));

    for (int i = m->hidden; i >= 0; i--) {
        float *da = layer_backward(m, i, x, dz, rows);
        if (i == 0)
            break;
        struct layer *l = &m->layers[i - 1];
        dz = device_array<float>((size_t)rows * WIDTH);
        activation_grad<<<blocks(rows), THREADS>>>(da, l->mask, l->n, l->z, dz, rows);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(da));
        free_saved(m, i - 1);
    }
    CHECK(cudaFree(x));
}

static double accuracy(struct model *m, const float *images, const int *labels, int rows)
{
    int correct = 0, *device_correct = device_array<int>(1);
    forward(m, images, rows, 1.0f, 0);
    count_correct<<<1, 1>>>(m->layers[m->hidden].z, labels, device_correct, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&correct, device_correct, sizeof(correct), cudaMemcpyDeviceToHost));
    for (int i = 0; i <= m->hidden; i++)
        free_saved(m, i);
    CHECK(cudaFree(device_correct));
    return (double)correct / rows;
}

struct digits {
    float *pixels;
    int *labels;
    int count;
};

static void digits_load(struct digits *d, const char *path)
{
    FILE *file = fopen(path, "r");
    int room = 4096, value;
    if (file == NULL) {
        fprintf(stderr, "mlp: cannot read %s: %s\n", path, strerror(errno));
        exit(2);
    }
    d->pixels = (float *)malloc((size_t)room * PIXELS * sizeof(float));
    d->labels = (int *)malloc((size_t)room * sizeof(int));
    for (d->count = 0; d->count < room && fscanf(file, "%d", &value) == 1; d->count++) {
        for (int i = 0; i < PIXELS; i++) {
            d->pixels[d->count * PIXELS + i] = value / 8.0f - 1.0f;
            if (fscanf(file, ",%d", &value) != 1) {
                fprintf(stderr, "mlp: %s:%d: fewer than %d values\n", path, d->count + 1,
                        PIXELS + 1);
                exit(2);
            }
        }
        d->labels[d->count] = value;
        if (value < 0 || value >= CLASSES) {
            fprintf(stderr, "mlp: %s:%d: %d is no class\n", path, d->count + 1, value);
            exit(2);
        }
    }
    fclose(file);
    if (d->count < 100) {
        fprintf(stderr, "mlp: %s: only %d digits\n", path, d->count);
        exit(2);
    }
}

/* Moves every fifth digit to the end, where training does not see it; returns how many. */
static int hold_out(struct digits *d)
{
    struct digits sorted = {(float *)malloc((size_t)d->count * PIXELS * sizeof(float)),
                            (int *)malloc((size_t)d->count * sizeof(int)), 0};
    for (int held = 0; held < 2; held++)
        for (int i = 0; i < d->count; i++) {
            if ((i % 5 == 4) != (held == 1))
                continue;
            memcpy(sorted.pixels + sorted.count * PIXELS, d->pixels + i * PIXELS,
                   PIXELS * sizeof(float));
            sorted.labels[sorted.count++] = d->labels[i];
        }
    free(d->pixels);
    free(d->labels);
    *d = sorted;
    return d->count / 5;
}

/* Fills ROWS images by cycling through the first COUNT digits, every other time shifted by another
 * pixel. */
static void spread(const struct digits *d, int count, int rows, float *images, int *labels)
{
    for (int row = 0; row < rows; row++) {
        int round = row / count % 10 / 2, source = row % count;
        int dx = round == 1 ? 1 : round == 2 ? -1 : 0, dy = round == 3 ? 1 : round == 4 ? -1 : 0;
        labels[row] = d->labels[source];
        for (int i = 0; i < PIXELS; i++) {
            int px = i % 8 + dx, py = i / 8 + dy;
            images[(size_t)row * PIXELS + i] = px < 0 || px > 7 || py < 0 || py > 7
                                                   ? -1.0f
                                                   : d->pixels[source * PIXELS + py * 8 + px];
        }
    }
}

static long number(const char *option, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = text != NULL ? strtol(text, &end, 10) : least - 1;
    if (text == NULL || *text == '\0' || *end != '\0' || errno || value < least || value > most) {
        fprintf(stderr, "mlp: %s wants a number from %ld to %ld\n", option, least, most);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    const char *data = "tests/data/digits.csv";
    int steps = 40, rows = 16384, late = 0;
    struct model m;
    memset(&m, 0, sizeof(m));
    m.hidden = 4;
    m.rate = 0.3f;
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--late") == 0) {
            late = 1;
            i--;
        } else if (strcmp(argv[i], "--steps") == 0)
            steps = (int)number(argv[i], argv[i + 1], 1, 1000000);
        else if (strcmp(argv[i], "--batch") == 0)
            rows = (int)number(argv[i], argv[i + 1], CHUNK, 1 << 22) / CHUNK * CHUNK;
        else if (strcmp(argv[i], "--layers") == 0)
            m.hidden = (int)number(argv[i], argv[i + 1], 1, MAX_LAYERS - 1);
        else if (strcmp(argv[i], "--data") == 0 && argv[i + 1] != NULL)
            data = argv[i + 1];
        else {
            fprintf(stderr,
                    "usage: mlp [--steps N] [--batch N] [--layers N] [--data FILE] [--late]\n");
            return 64;
        }
    }

    struct digits d;
    digits_load(&d, data);
    int held_out = hold_out(&d), train = d.count - held_out;
    float *host_images = (float *)malloc((size_t)rows * PIXELS * sizeof(float));
    int *host_labels = (int *)malloc((size_t)rows * sizeof(int));
    spread(&d, train, rows, host_images, host_labels);
    float *images = device_copy(host_images, (size_t)rows * PIXELS);
    int *labels = device_copy(host_labels, rows);
    float *test_images = device_copy(d.pixels + train * PIXELS, (size_t)held_out * PIXELS);
    int *test_labels = device_copy(d.labels + train, held_out);
    float *losses = (float *)malloc((size_t)steps * sizeof(float));
    float *device_losses = device_array<float>(steps);
    model_create(&m);

    float rate = m.rate;
    for (int step = 0; step < steps; step++) {
        m.rate = rate * (1.0f - (float)step / steps);
        train_step(&m, images, labels, device_losses + step, rows, (unsigned)step + 1);
        if (late)
            continue;
        CHECK(
            cudaMemcpy(&losses[step], &device_losses[step], sizeof(float), cudaMemcpyDeviceToHost));
        printf("step %d loss %.9g\n", step + 1, losses[step]);
        fflush(stdout);
    }
    if (late) {
        CHECK(cudaMemcpy(losses, device_losses, steps * sizeof(float), cudaMemcpyDeviceToHost));
        for (int step = 0; step < steps; step++)
            printf("step %d loss %.9g\n", step + 1, losses[step]);
    }
    printf("accuracy %.4f\n", accuracy(&m, test_images, test_labels, held_out));

    for (int i = 0; i <= m.hidden; i++) {
        CHECK(cudaFree(m.layers[i].w));
        CHECK(cudaFree(m.layers[i].v));
    }
    CHECK(cudaFree(device_losses));
    CHECK(cudaFree(test_labels));
    CHECK(cudaFree(test_images));
    CHECK(cudaFree(labels));
    CHECK(cudaFree(images));
    free(losses);
    free(host_labels);
    free(host_images);
    free(d.labels);
    free(d.pixels);
    return 0;
}
