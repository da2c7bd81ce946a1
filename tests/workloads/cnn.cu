/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary CUDA program: a small residual network (3x3 convolutions, batch normalisation, a
 * projected shortcut, pooling) with momentum, trained on handwritten digits
 * (tests/data/digits.csv). Nothing of Spillway is in it.
 *
 * It allocates and frees what a framework does: of each convolution its output and what follows the
 * rectifier are saved for the way back, all else is freed as soon as it was read. A batch is
 * uploaded in every step. Beside the default stream, one more uploads, computes the shortcut and
 * sums weight gradients, ordered by events alone. Sums run in a fixed order (no float atomics), so
 * two runs print the same digits.
 *
 * Images are stored pixel by pixel, channels innermost; most kernels give a thread a pixel. */
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
    SIDE = 8, /* of an image; half of it after pooling */
    HALF = SIDE / 2,
    PIXELS = SIDE * SIDE,
    NARROW = 8, /* channels before pooling */
    WIDE = 16,  /* and after it */
    FEATURES = HALF * HALF * WIDE,
    CLASSES = 10,
    OUTPUTS = 16, /* classes, padded to a vector's length */
    THREADS = 128,
    CHUNK = 32,        /* images whose weight gradients one block sums */
    SUM_PIXELS = 2048, /* pixels whose moments one block sums */
    SPAN = 16,
    BLOCKS = 4 /* the first half of them before pooling */
};

/* ---- kernels: one thread a pixel unless said otherwise ---- */

/* z = x * w, KxK, zeros around; w is stored tap by tap, each IN x OUT. */
template <int IN, int OUT, int K, int SIZE>
__global__ void conv(const float *x, const float *w, float *z, int images)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= images * SIZE * SIZE)
        return;
    int px = p % SIZE, py = p / SIZE % SIZE;
    float sum[OUT];
    for (int j = 0; j < OUT; j++)
        sum[j] = 0.0f;
    for (int tap = 0; tap < K * K; tap++) {
        int dx = tap % K - K / 2, dy = tap / K - K / 2;
        if (px + dx < 0 || px + dx >= SIZE || py + dy < 0 || py + dy >= SIZE)
            continue;
        for (int i = 0; i < IN; i++) {
            float xi = x[(p + dy * SIZE + dx) * IN + i];
            for (int j = 0; j < OUT; j++)
                sum[j] += xi * w[(tap * IN + i) * OUT + j];
        }
    }
    for (int j = 0; j < OUT; j++)
        z[p * OUT + j] = sum[j];
}

/* The weights with which a convolution of dz gives dx: taps mirrored, each transposed. One thread a
 * weight. */
__global__ void mirror(const float *w, float *mirrored, int taps, int in, int out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= taps * in * out)
        return;
    int tap = i / (in * out), from = i / out % in, to = i % out;
    mirrored[((taps - 1 - tap) * out + to) * in + from] = w[i];
}

/* The weight gradient of CHUNK images. One block a chunk, one thread a tap and input channel. */
template <int IN, int OUT, int K, int SIZE>
__global__ void conv_weight_grad(const float *x, const float *dz, float *partial)
{
    int i = threadIdx.x % IN, tap = threadIdx.x / IN;
    int dx = tap % K - K / 2, dy = tap / K - K / 2;
    float sum[OUT];
    for (int j = 0; j < OUT; j++)
        sum[j] = 0.0f;
    for (int row = blockIdx.x * CHUNK * SIZE; row < (blockIdx.x + 1) * CHUNK * SIZE; row++) {
        if (row % SIZE + dy < 0 || row % SIZE + dy >= SIZE)
            continue;
        for (int px = dx < 0 ? -dx : 0; px < SIZE - (dx > 0 ? dx : 0); px++) {
            float xi = x[((row + dy) * SIZE + px + dx) * IN + i];
            for (int j = 0; j < OUT; j++)
                sum[j] += xi * dz[(row * SIZE + px) * OUT + j];
        }
    }
    for (int j = 0; j < OUT; j++)
        partial[(blockIdx.x * blockDim.x + threadIdx.x) * OUT + j] = sum[j];
}

/* Adds up what the threads of a block hold, COUNT values each, in a tree in shared memory. */
template <int COUNT> __device__ void block_sum(const float *own, float *total)
{
    __shared__ float part[COUNT][THREADS];
    for (int j = 0; j < COUNT; j++)
        part[j][threadIdx.x] = own[j];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            for (int j = 0; j < COUNT; j++)
                part[j][threadIdx.x] += part[j][threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x < COUNT)
        total[threadIdx.x] = part[threadIdx.x][0];
}

/* Sums and sums of squares, by channel, of SUM_PIXELS pixels a block. */
template <int C> __global__ void moments(const float *z, float *partial, int pixels)
{
    float sum[2 * C];
    for (int j = 0; j < 2 * C; j++)
        sum[j] = 0.0f;
    int end = min(pixels, (int)(blockIdx.x + 1) * SUM_PIXELS);
    for (int p = blockIdx.x * SUM_PIXELS + threadIdx.x; p < end; p += THREADS)
        for (int j = 0; j < C; j++) {
            sum[j] += z[p * C + j];
            sum[C + j] += z[p * C + j] * z[p * C + j];
        }
    block_sum<2 * C>(sum, partial + blockIdx.x * 2 * C);
}

/* Mean and reciprocal deviation from the sums; also carried along for the evaluation. One thread a
 * channel. */
__global__ void moments_finish(const float *partial, float *stats, float *running, int chunks,
                               int pixels)
{
    int j = threadIdx.x, c = blockDim.x;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < chunks; i++) {
        sum += partial[i * 2 * c + j];
        squares += partial[i * 2 * c + c + j];
    }
    float mean = sum / pixels, variance = fmaxf(squares / pixels - mean * mean, 0.0f);
    stats[j] = mean;
    stats[c + j] = 1.0f / sqrtf(variance + 1e-5f);
    running[j] += 0.2f * (mean - running[j]);
    running[c + j] += 0.2f * (variance - running[c + j]);
}

/* One thread a channel. */
__global__ void moments_recall(const float *running, float *stats)
{
    int j = threadIdx.x, c = blockDim.x;
    stats[j] = running[j];
    stats[c + j] = 1.0f / sqrtf(running[c + j] + 1e-5f);
}

/* SCALE holds a gain and then an offset for each channel. */
template <int C>
__global__ void normalize(const float *z, const float *stats, const float *scale, float *n,
                          int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels)
        return;
    for (int j = 0; j < C; j++)
        n[p * C + j] = (z[p * C + j] - stats[j]) * stats[C + j] * scale[j] + scale[C + j];
}

/* Sums by channel, of SUM_PIXELS pixels a block: what gain and offset get as gradients. */
template <int C>
__global__ void scale_grad(const float *dn, const float *z, const float *stats, float *partial,
                           int pixels)
{
    float sum[2 * C];
    for (int j = 0; j < 2 * C; j++)
        sum[j] = 0.0f;
    int end = min(pixels, (int)(blockIdx.x + 1) * SUM_PIXELS);
    for (int p = blockIdx.x * SUM_PIXELS + threadIdx.x; p < end; p += THREADS)
        for (int j = 0; j < C; j++) {
            float d = dn[p * C + j];
            sum[j] += d * (z[p * C + j] - stats[j]) * stats[C + j];
            sum[C + j] += d;
        }
    block_sum<2 * C>(sum, partial + blockIdx.x * 2 * C);
}

/* GRAD: the gradients of SCALE. */
template <int C>
__global__ void normalize_grad(const float *dn, const float *z, const float *stats,
                               const float *scale, const float *grad, float *dz, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels)
        return;
    for (int j = 0; j < C; j++) {
        float normal = (z[p * C + j] - stats[j]) * stats[C + j];
        dz[p * C + j] = scale[j] * stats[C + j] *
                        (dn[p * C + j] - grad[C + j] / pixels - normal * grad[j] / pixels);
    }
}

/* These three: one thread SPAN values, of which every activation has a multiple. */
__global__ void add_relu(const float *n, const float *skip, float *a, int count)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * SPAN;
    if (first >= count)
        return;
    for (int i = first; i < first + SPAN; i++)
        a[i] = fmaxf(skip != NULL ? n[i] + skip[i] : n[i], 0.0f);
}

__global__ void relu_grad(const float *da, const float *a, float *dn, int count)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * SPAN;
    if (first >= count)
        return;
    for (int i = first; i < first + SPAN; i++)
        dn[i] = a[i] > 0.0f ? da[i] : 0.0f;
}

__global__ void accumulate(float *x, const float *y, int count)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * SPAN;
    if (first >= count)
        return;
    for (int i = first; i < first + SPAN; i++)
        x[i] += y[i];
}

/* The largest of 2x2, and which one it was. */
__global__ void max_pool(const float *a, float *pooled, unsigned char *which, int images)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= images * HALF * HALF)
        return;
    int first = p / HALF * 2 * SIDE + p % HALF * 2;
    for (int j = 0; j < NARROW; j++) {
        int best = 0;
        for (int k = 1; k < 4; k++)
            if (a[(first + k / 2 * SIDE + k % 2) * NARROW + j] >
                a[(first + best / 2 * SIDE + best % 2) * NARROW + j])
                best = k;
        pooled[p * NARROW + j] = a[(first + best / 2 * SIDE + best % 2) * NARROW + j];
        which[p * NARROW + j] = best;
    }
}

__global__ void max_pool_grad(const float *dpooled, const unsigned char *which, float *da,
                              int images)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= images * HALF * HALF)
        return;
    int first = p / HALF * 2 * SIDE + p % HALF * 2;
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < NARROW; j++)
            da[(first + k / 2 * SIDE + k % 2) * NARROW + j] =
                which[p * NARROW + j] == k ? dpooled[p * NARROW + j] : 0.0f;
}

/* The head: W is stored FEATURES x OUTPUTS and the bias as its last row. One thread an image. */
__global__ void classify(const float *x, const float *w, float *logits, int images)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= images)
        return;
    float sum[OUTPUTS];
    for (int c = 0; c < OUTPUTS; c++)
        sum[c] = w[FEATURES * OUTPUTS + c];
    for (int k = 0; k < FEATURES; k++)
        for (int c = 0; c < OUTPUTS; c++)
            sum[c] += x[n * FEATURES + k] * w[k * OUTPUTS + c];
    for (int c = 0; c < OUTPUTS; c++)
        logits[n * OUTPUTS + c] = sum[c];
}

/* One block an image, one thread a feature. */
__global__ void classify_input_grad(const float *dlogits, const float *w, float *dx)
{
    int n = blockIdx.x, k = threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < OUTPUTS; c++)
        sum += dlogits[n * OUTPUTS + c] * w[k * OUTPUTS + c];
    dx[n * FEATURES + k] = sum;
}

/* One block CHUNK images, one thread a row of W. */
__global__ void classify_weight_grad(const float *x, const float *dlogits, float *partial)
{
    int k = threadIdx.x;
    float sum[OUTPUTS];
    for (int c = 0; c < OUTPUTS; c++)
        sum[c] = 0.0f;
    for (int n = blockIdx.x * CHUNK; n < (blockIdx.x + 1) * CHUNK; n++)
        for (int c = 0; c < OUTPUTS; c++)
            sum[c] += (k < FEATURES ? x[n * FEATURES + k] : 1.0f) * dlogits[n * OUTPUTS + c];
    for (int c = 0; c < OUTPUTS; c++)
        partial[(blockIdx.x * blockDim.x + k) * OUTPUTS + c] = sum[c];
}

/* The loss of each image and its gradient by the logits, already divided by the batch. */
__global__ void softmax_loss(const float *logits, const int *labels, float *dlogits,
                             float *image_loss, int images)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= images)
        return;
    const float *in = logits + n * OUTPUTS;
    float *out = dlogits + n * OUTPUTS;
    float most = in[0], total = 0.0f;
    for (int c = 1; c < CLASSES; c++)
        most = fmaxf(most, in[c]);
    for (int c = 0; c < CLASSES; c++) {
        out[c] = expf(in[c] - most);
        total += out[c];
    }
    int label = labels[n];
    image_loss[n] = logf(total) + most - in[label];
    for (int c = 0; c < CLASSES; c++)
        out[c] = (out[c] / total - (c == label ? 1.0f : 0.0f)) / images;
    for (int c = CLASSES; c < OUTPUTS; c++)
        out[c] = 0.0f;
}

/* One block sums everything. */
__global__ void mean_of(const float *values, float *mean, int count)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += values[i] / count;
    block_sum<1>(&sum, mean);
}

/* One thread a weight, as below. */
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

__global__ void count_correct(const float *logits, const int *labels, int *correct, int images)
{
    int right = 0;
    for (int n = 0; n < images; n++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (logits[n * OUTPUTS + c] > logits[n * OUTPUTS + best])
                best = c;
        right += best == labels[n];
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

/* Weights and their momentum: stay for the whole run. */
struct weights {
    int count;
    float *w, *v;
};

static void weights_create(struct weights *p, const float *host, int count)
{
    p->count = count;
    p->w = device_copy(host, count);
    p->v = device_array<float>(count);
    CHECK(cudaMemset(p->v, 0, count * sizeof(float)));
}

static void weights_destroy(struct weights *p)
{
    CHECK(cudaFree(p->w));
    CHECK(cudaFree(p->v));
}

static void random_weights(struct weights *p, int rows, int zero_rows, int columns, float scale,
                           unsigned *state)
{
    int count = (rows + zero_rows) * columns;
    float *host = (float *)calloc(count, sizeof(*host));
    for (int i = 0; i < rows * columns; i++) {
        *state = *state * 1664525U + 1013904223U;
        host[i] = ((*state >> 8) / 8388608.0f - 1.0f) * scale;
    }
    weights_create(p, host, count);
    free(host);
}

/* A convolution and its normalisation. */
struct unit {
    int in, out, taps, size;
    struct weights w, scale;
    float *running;   /* moments for the evaluation: stay, too */
    float *z, *stats; /* saved for the way back: live within one step */
    void (*forward)(const float *x, const float *w, float *z, int images);
    void (*input_grad)(const float *dz, const float *mirrored, float *dx, int images);
    void (*weight_grad)(const float *x, const float *dz, float *partial);
    void (*moments)(const float *z, float *partial, int pixels);
    void (*normalize)(const float *z, const float *stats, const float *scale, float *n, int pixels);
    void (*scale_grad)(const float *dn, const float *z, const float *stats, float *partial,
                       int pixels);
    void (*normalize_grad)(const float *dn, const float *z, const float *stats, const float *scale,
                           const float *grad, float *dz, int pixels);
};

template <int IN, int OUT, int K, int SIZE> static void unit_create(struct unit *u, unsigned *state)
{
    float host[2 * OUT];
    u->in = IN;
    u->out = OUT;
    u->taps = K * K;
    u->size = SIZE;
    random_weights(&u->w, K * K * IN, 0, OUT, sqrtf(6.0f / (K * K * IN)), state);
    for (int j = 0; j < OUT; j++) {
        host[j] = 1.0f;
        host[OUT + j] = 0.0f;
    }
    weights_create(&u->scale, host, 2 * OUT);
    u->running = device_copy(host, 2 * OUT);
    u->forward = conv<IN, OUT, K, SIZE>;
    u->input_grad = conv<OUT, IN, K, SIZE>;
    u->weight_grad = conv_weight_grad<IN, OUT, K, SIZE>;
    u->moments = moments<OUT>;
    u->normalize = normalize<OUT>;
    u->scale_grad = scale_grad<OUT>;
    u->normalize_grad = normalize_grad<OUT>;
}

static void unit_destroy(struct unit *u)
{
    weights_destroy(&u->w);
    weights_destroy(&u->scale);
    CHECK(cudaFree(u->running));
}

/* out = relu(unit(relu(unit(x))) + x), or with a third unit of x in place of x. */
struct block {
    struct unit first, second, shortcut;
    int projected;
    float *hidden, *out; /* saved */
};

struct model {
    struct unit stem;
    struct block blocks[BLOCKS];
    struct weights head;
    float *stem_out, *pooled, *logits; /* saved */
    unsigned char *which;
    cudaStream_t side;
    cudaEvent_t forked, joined;
    int images, training;
    float rate;
};

static void model_create(struct model *m)
{
    unsigned state = 12345;
    unit_create<1, NARROW, 3, SIDE>(&m->stem, &state);
    for (int i = 0; i < BLOCKS / 2; i++) {
        unit_create<NARROW, NARROW, 3, SIDE>(&m->blocks[i].first, &state);
        unit_create<NARROW, NARROW, 3, SIDE>(&m->blocks[i].second, &state);
    }
    for (int i = BLOCKS / 2; i < BLOCKS; i++) {
        struct block *b = &m->blocks[i];
        b->projected = i == BLOCKS / 2;
        if (b->projected) {
            unit_create<NARROW, WIDE, 3, HALF>(&b->first, &state);
            unit_create<NARROW, WIDE, 1, HALF>(&b->shortcut, &state);
        } else {
            unit_create<WIDE, WIDE, 3, HALF>(&b->first, &state);
        }
        unit_create<WIDE, WIDE, 3, HALF>(&b->second, &state);
    }
    random_weights(&m->head, FEATURES, 1, OUTPUTS, sqrtf(6.0f / FEATURES) * 0.3f, &state);
    CHECK(cudaStreamCreateWithFlags(&m->side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&m->forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m->joined, cudaEventDisableTiming));
}

static void model_destroy(struct model *m)
{
    unit_destroy(&m->stem);
    for (int i = 0; i < BLOCKS; i++) {
        unit_destroy(&m->blocks[i].first);
        unit_destroy(&m->blocks[i].second);
        if (m->blocks[i].projected)
            unit_destroy(&m->blocks[i].shortcut);
    }
    weights_destroy(&m->head);
    CHECK(cudaEventDestroy(m->forked));
    CHECK(cudaEventDestroy(m->joined));
    CHECK(cudaStreamDestroy(m->side));
}

/* What follows on the side stream sees all that the default stream was given so far; and back. */
static void fork(struct model *m)
{
    CHECK(cudaEventRecord(m->forked, 0));
    CHECK(cudaStreamWaitEvent(m->side, m->forked, 0));
}

static void join(struct model *m)
{
    CHECK(cudaEventRecord(m->joined, m->side));
    CHECK(cudaStreamWaitEvent(0, m->joined, 0));
}

static int sum_blocks(int pixels)
{
    return (pixels + SUM_PIXELS - 1) / SUM_PIXELS;
}

/* Returns the normalised output; z and the moments stay allocated. */
static float *unit_forward(struct model *m, struct unit *u, const float *x, cudaStream_t stream)
{
    int pixels = m->images * u->size * u->size, chunks = sum_blocks(pixels);
    u->z = device_array<float>((size_t)pixels * u->out);
    u->forward<<<blocks(pixels), THREADS, 0, stream>>>(x, u->w.w, u->z, m->images);
    CHECK(cudaGetLastError());
    u->stats = device_array<float>(2 * u->out);
    if (m->training) {
        float *partial = device_array<float>((size_t)chunks * 2 * u->out);
        u->moments<<<chunks, THREADS, 0, stream>>>(u->z, partial, pixels);
        CHECK(cudaGetLastError());
        moments_finish<<<1, u->out, 0, stream>>>(partial, u->stats, u->running, chunks, pixels);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(partial));
    } else {
        moments_recall<<<1, u->out, 0, stream>>>(u->running, u->stats);
        CHECK(cudaGetLastError());
    }
    float *n = device_array<float>((size_t)pixels * u->out);
    u->normalize<<<blocks(pixels), THREADS, 0, stream>>>(u->z, u->stats, u->scale.w, n, pixels);
    CHECK(cudaGetLastError());
    return n;
}

static void unit_free_saved(struct unit *u)
{
    CHECK(cudaFree(u->z));
    CHECK(cudaFree(u->stats));
}

/* Takes the gradient by what unit_forward returned; the side stream sums the weight gradients and
 * updates while the default stream computes the gradient by the input, which is returned (NULL for
 * the stem, where nobody needs it). */
static float *unit_backward(struct model *m, struct unit *u, const float *x, const float *dn)
{
    int pixels = m->images * u->size * u->size, chunks = sum_blocks(pixels);
    float *partial = device_array<float>((size_t)chunks * u->scale.count);
    u->scale_grad<<<chunks, THREADS>>>(dn, u->z, u->stats, partial, pixels);
    CHECK(cudaGetLastError());
    float *dscale = device_array<float>(u->scale.count);
    sum_chunks<<<1, u->scale.count>>>(partial, dscale, u->scale.count, chunks);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(partial));
    float *dz = device_array<float>((size_t)pixels * u->out);
    u->normalize_grad<<<blocks(pixels), THREADS>>>(dn, u->z, u->stats, u->scale.w, dscale, dz,
                                                   pixels);
    CHECK(cudaGetLastError());
    unit_free_saved(u);
    /* The update must not overtake: the mirrored weights are those of the way forward. */
    float *mirrored = device_array<float>(u->w.count), *dx = NULL;
    mirror<<<blocks(u->w.count), THREADS>>>(u->w.w, mirrored, u->taps, u->in, u->out);
    CHECK(cudaGetLastError());

    fork(m);
    chunks = m->images / CHUNK;
    partial = device_array<float>((size_t)chunks * u->w.count);
    u->weight_grad<<<chunks, u->taps * u->in, 0, m->side>>>(x, dz, partial);
    CHECK(cudaGetLastError());
    if (u != &m->stem) {
        dx = device_array<float>((size_t)pixels * u->in);
        u->input_grad<<<blocks(pixels), THREADS>>>(dz, mirrored, dx, m->images);
        CHECK(cudaGetLastError());
    }
    float *dw = device_array<float>(u->w.count);
    sum_chunks<<<blocks(u->w.count), THREADS, 0, m->side>>>(partial, dw, u->w.count, chunks);
    CHECK(cudaGetLastError());
    momentum_step<<<blocks(u->w.count), THREADS, 0, m->side>>>(u->w.w, u->w.v, dw, u->w.count,
                                                               m->rate);
    CHECK(cudaGetLastError());
    momentum_step<<<1, u->scale.count, 0, m->side>>>(u->scale.w, u->scale.v, dscale, u->scale.count,
                                                     m->rate);
    CHECK(cudaGetLastError());
    join(m);
    CHECK(cudaFree(partial));
    CHECK(cudaFree(dw));
    CHECK(cudaFree(dscale));
    CHECK(cudaFree(mirrored));
    CHECK(cudaFree(dz));
    return dx;
}

/* Back through a rectifier; frees both. */
static float *relu_backward(float *da, float *a, int count)
{
    float *dn = device_array<float>(count);
    relu_grad<<<blocks(count / SPAN), THREADS>>>(da, a, dn, count);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(da));
    CHECK(cudaFree(a));
    return dn;
}

static int outputs_of(const struct model *m, const struct unit *u)
{
    return m->images * u->size * u->size * u->out;
}

static float *rectified(struct model *m, struct unit *u, const float *x)
{
    int count = outputs_of(m, u);
    float *n = unit_forward(m, u, x, 0);
    float *a = device_array<float>(count);
    add_relu<<<blocks(count / SPAN), THREADS>>>(n, NULL, a, count);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(n));
    return a;
}

static void block_forward(struct model *m, struct block *b, const float *x)
{
    int count = outputs_of(m, &b->second);
    float *skip = NULL;
    if (b->projected) {
        fork(m);
        skip = unit_forward(m, &b->shortcut, x, m->side);
    }
    b->hidden = rectified(m, &b->first, x);
    float *n = unit_forward(m, &b->second, b->hidden, 0);
    if (b->projected)
        join(m);
    b->out = device_array<float>(count);
    add_relu<<<blocks(count / SPAN), THREADS>>>(n, b->projected ? skip : x, b->out, count);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(n));
    if (b->projected)
        CHECK(cudaFree(skip));
}

static float *block_backward(struct model *m, struct block *b, const float *x, float *dout)
{
    int count = m->images * b->first.size * b->first.size * b->first.in;
    float *dn = relu_backward(dout, b->out, outputs_of(m, &b->second));
    float *dhidden = unit_backward(m, &b->second, b->hidden, dn);
    float *dfirst = relu_backward(dhidden, b->hidden, outputs_of(m, &b->first));
    float *dx = unit_backward(m, &b->first, x, dfirst);
    CHECK(cudaFree(dfirst));
    float *dskip = b->projected ? unit_backward(m, &b->shortcut, x, dn) : dn;
    accumulate<<<blocks(count / SPAN), THREADS>>>(dx, dskip, count);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dn));
    if (b->projected)
        CHECK(cudaFree(dskip));
    return dx;
}

static const float *block_input(const struct model *m, int i)
{
    return i == 0 ? m->stem_out : i == BLOCKS / 2 ? m->pooled : m->blocks[i - 1].out;
}

/* Leaves all that struct model calls saved allocated. */
static void forward(struct model *m, const float *x)
{
    int images = m->images, pooled = images * HALF * HALF;
    m->stem_out = rectified(m, &m->stem, x);
    for (int i = 0; i < BLOCKS; i++) {
        if (i == BLOCKS / 2) {
            m->pooled = device_array<float>((size_t)pooled * NARROW);
            m->which = device_array<unsigned char>((size_t)pooled * NARROW);
            max_pool<<<blocks(pooled), THREADS>>>(m->blocks[i - 1].out, m->pooled, m->which,
                                                  images);
            CHECK(cudaGetLastError());
        }
        block_forward(m, &m->blocks[i], block_input(m, i));
    }
    m->logits = device_array<float>((size_t)images * OUTPUTS);
    classify<<<blocks(images), THREADS>>>(m->blocks[BLOCKS - 1].out, m->head.w, m->logits, images);
    CHECK(cudaGetLastError());
}

/* Returns the gradient by the last block's output; leaves the loss in *DEVICE_LOSS. */
static float *head_backward(struct model *m, const int *labels, float *device_loss)
{
    int images = m->images, chunks = images / CHUNK;
    float *image_loss = device_array<float>(images);
    float *dlogits = device_array<float>((size_t)images * OUTPUTS);
    softmax_loss<<<blocks(images), THREADS>>>(m->logits, labels, dlogits, image_loss, images);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(m->logits));
    mean_of<<<1, THREADS>>>(image_loss, device_loss, images);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(image_loss));

    float *da = device_array<float>((size_t)images * FEATURES);
    classify_input_grad<<<images, FEATURES>>>(dlogits, m->head.w, da);
    CHECK(cudaGetLastError());
    float *partial = device_array<float>((size_t)chunks * m->head.count);
    classify_weight_grad<<<chunks, FEATURES + 1>>>(m->blocks[BLOCKS - 1].out, dlogits, partial);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dlogits));
    float *dw = device_array<float>(m->head.count);
    sum_chunks<<<blocks(m->head.count), THREADS>>>(partial, dw, m->head.count, chunks);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(partial));
    momentum_step<<<blocks(m->head.count), THREADS>>>(m->head.w, m->head.v, dw, m->head.count,
                                                      m->rate);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dw));

    return da;
}

static void train_step(struct model *m, const float *batch_images, const int *batch_labels,
                       float *device_loss)
{
    int images = m->images, pooled = images * HALF * HALF;
    float *x = device_array<float>((size_t)images * PIXELS);
    int *labels = device_array<int>(images);
    CHECK(cudaMemcpyAsync(x, batch_images, (size_t)images * PIXELS * sizeof(float),
                          cudaMemcpyHostToDevice, m->side));
    CHECK(cudaMemcpyAsync(labels, batch_labels, images * sizeof(int), cudaMemcpyHostToDevice,
                          m->side));
    join(m);
    forward(m, x);
    float *da = head_backward(m, labels, device_loss);
    CHECK(cudaFree(labels));
    for (int i = BLOCKS - 1; i >= 0; i--) {
        float *dx = block_backward(m, &m->blocks[i], block_input(m, i), da);
        da = dx;
        if (i != BLOCKS / 2)
            continue;
        da = device_array<float>((size_t)images * PIXELS * NARROW);
        max_pool_grad<<<blocks(pooled), THREADS>>>(dx, m->which, da, images);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(dx));
        CHECK(cudaFree(m->pooled));
        CHECK(cudaFree(m->which));
    }
    float *dn = relu_backward(da, m->stem_out, outputs_of(m, &m->stem));
    unit_backward(m, &m->stem, x, dn);
    CHECK(cudaFree(dn));
    CHECK(cudaFree(x));
}

static double accuracy(struct model *m, const float *host_images, const int *host_labels, int count)
{
    float *images = device_copy(host_images, (size_t)count * PIXELS);
    int *labels = device_copy(host_labels, count);
    int correct = 0, *device_correct = device_array<int>(1);
    m->images = count;
    m->training = 0;
    forward(m, images);
    count_correct<<<1, 1>>>(m->logits, labels, device_correct, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&correct, device_correct, sizeof(correct), cudaMemcpyDeviceToHost));
    unit_free_saved(&m->stem);
    CHECK(cudaFree(m->stem_out));
    for (int i = 0; i < BLOCKS; i++) {
        struct block *b = &m->blocks[i];
        unit_free_saved(&b->first);
        unit_free_saved(&b->second);
        if (b->projected)
            unit_free_saved(&b->shortcut);
        CHECK(cudaFree(b->hidden));
        CHECK(cudaFree(b->out));
    }
    CHECK(cudaFree(m->pooled));
    CHECK(cudaFree(m->which));
    CHECK(cudaFree(m->logits));
    CHECK(cudaFree(device_correct));
    CHECK(cudaFree(labels));
    CHECK(cudaFree(images));
    return (double)correct / count;
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
        fprintf(stderr, "cnn: cannot read %s: %s\n", path, strerror(errno));
        exit(2);
    }
    d->pixels = (float *)malloc((size_t)room * PIXELS * sizeof(float));
    d->labels = (int *)malloc((size_t)room * sizeof(int));
    for (d->count = 0; d->count < room && fscanf(file, "%d", &value) == 1; d->count++) {
        for (int i = 0; i < PIXELS; i++) {
            d->pixels[d->count * PIXELS + i] = value / 8.0f - 1.0f;
            if (fscanf(file, ",%d", &value) != 1) {
                fprintf(stderr, "cnn: %s:%d: fewer than %d values\n", path, d->count + 1,
                        PIXELS + 1);
                exit(2);
            }
        }
        d->labels[d->count] = value;
        if (value < 0 || value >= CLASSES) {
            fprintf(stderr, "cnn: %s:%d: %d is no class\n", path, d->count + 1, value);
            exit(2);
        }
    }
    fclose(file);
    if (d->count < 100) {
        fprintf(stderr, "cnn: %s: only %d digits\n", path, d->count);
        exit(2);
    }
}

/* Random ones of the first COUNT digits, each shifted by up to a pixel. */
static void draw(const struct digits *d, int count, int images, float *pixels, int *labels,
                 unsigned *state)
{
    for (int n = 0; n < images; n++) {
        *state = *state * 1664525U + 1013904223U;
        int source = (*state >> 8) % count, shift = (*state >> 4) % 9;
        labels[n] = d->labels[source];
        for (int i = 0; i < PIXELS; i++) {
            int px = i % SIDE + shift % 3 - 1, py = i / SIDE + shift / 3 - 1;
            pixels[(size_t)n * PIXELS + i] = px < 0 || px >= SIDE || py < 0 || py >= SIDE
                                                 ? -1.0f
                                                 : d->pixels[source * PIXELS + py * SIDE + px];
        }
    }
}

static long number(const char *option, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = text != NULL ? strtol(text, &end, 10) : least - 1;
    if (text == NULL || *text == '\0' || *end != '\0' || errno || value < least || value > most) {
        fprintf(stderr, "cnn: %s wants a number from %ld to %ld\n", option, least, most);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    const char *data = "tests/data/digits.csv";
    int steps = 40, images = 2048;
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--steps") == 0)
            steps = (int)number(argv[i], argv[i + 1], 1, 1000000);
        else if (strcmp(argv[i], "--batch") == 0)
            images = (int)number(argv[i], argv[i + 1], CHUNK, 1 << 20) / CHUNK * CHUNK;
        else if (strcmp(argv[i], "--data") == 0 && argv[i + 1] != NULL)
            data = argv[i + 1];
        else {
            fprintf(stderr, "usage: cnn [--steps N] [--batch N] [--data FILE]\n");
            return 64;
        }
    }

    /* The last fifth is not trained on. */
    struct digits d;
    digits_load(&d, data);
    int held_out = d.count / 5, train = d.count - held_out;
    unsigned state = 2024;
    float *batch_images;
    int *batch_labels;
    CHECK(cudaMallocHost((void **)&batch_images, (size_t)images * PIXELS * sizeof(float)));
    CHECK(cudaMallocHost((void **)&batch_labels, (size_t)images * sizeof(int)));
    float *device_loss = device_array<float>(1);
    struct model m;
    memset(&m, 0, sizeof(m));
    model_create(&m);

    for (int step = 0; step < steps; step++) {
        float loss;
        draw(&d, train, images, batch_images, batch_labels, &state);
        m.images = images;
        m.training = 1;
        m.rate = 0.1f * (1.0f - (float)step / steps);
        train_step(&m, batch_images, batch_labels, device_loss);
        CHECK(cudaMemcpy(&loss, device_loss, sizeof(loss), cudaMemcpyDeviceToHost));
        printf("step %d loss %.9g\n", step + 1, loss);
        fflush(stdout);
    }
    printf("accuracy %.4f\n", accuracy(&m, d.pixels + train * PIXELS, d.labels + train, held_out));

    model_destroy(&m);
    CHECK(cudaFree(device_loss));
    CHECK(cudaFreeHost(batch_labels));
    CHECK(cudaFreeHost(batch_images));
    free(d.labels);
    free(d.pixels);
    return 0;
}
