/* SPDX-License-Identifier: Apache-2.0 */
/* Writer: runs inside the host process, so open/write only. Reader: in tools; trusts no byte. */
#include "profiler/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "profiler/tracelayout.h"

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_record(int fd, enum spill_tracelayout_type type, const void *data,
                         uint32_t elem_bytes, uint64_t count)
{
    static const char zeros[8];
    size_t bytes = (size_t)(elem_bytes * count);
    struct spill_tracelayout_record record = {type, elem_bytes, count,
                                              spill_tracelayout_checksum(data, bytes)};
    return write_all(fd, &record, sizeof(record)) && write_all(fd, data, bytes) &&
           write_all(fd, zeros, -bytes & 7);
}

static bool write_trace(int fd, const struct spill_trace *t)
{
    struct spill_tracelayout_head head = {.order = SPILL_TRACELAYOUT_ORDER,
                                          .version = SPILL_TRACEFILE_VERSION};
    struct spill_tracelayout_meta meta = {
        .out_latency_ns = t->out.latency_ns,
        .out_bytes_per_s = t->out.bytes_per_s,
        .in_latency_ns = t->in.latency_ns,
        .in_bytes_per_s = t->in.bytes_per_s,
        .page_bytes = t->page_bytes,
        .gpu_bytes = t->gpu_bytes,
        .gpu_budget = t->gpu_budget,
        .peak_bytes = t->peak_bytes,
        .small_bytes = t->small_bytes,
        .step_ns = t->step_ns,
        .paged_bytes = t->paged_bytes,
        .duplex_permille = t->duplex_permille,
        .iterations = t->iterations,
        .device_name = t->device_name,
        .program = t->program,
        .others = t->others,
        .log_bytes = t->log_bytes,
        .log_max = t->log_max,
        .hooked_calls = t->hooked_calls,
    };
    memcpy(head.magic, SPILL_TRACELAYOUT_MAGIC, sizeof(head.magic));
    return write_all(fd, &head, sizeof(head)) &&
           write_record(fd, SPILL_TRACELAYOUT_META, &meta, sizeof(meta), 1) &&
           write_record(fd, SPILL_TRACELAYOUT_NAMES, t->names, 1, t->name_bytes) &&
           write_record(fd, SPILL_TRACELAYOUT_OPS, t->ops, sizeof(*t->ops), t->op_count) &&
           write_record(fd, SPILL_TRACELAYOUT_ACCESSES, t->accesses, sizeof(*t->accesses),
                        t->access_count) &&
           write_record(fd, SPILL_TRACELAYOUT_BUFFERS, t->buffers, sizeof(*t->buffers),
                        t->buffer_count) &&
           write_record(fd, SPILL_TRACELAYOUT_DIFFERENCES, t->differences, sizeof(*t->differences),
                        t->difference_count) &&
           write_record(fd, SPILL_TRACELAYOUT_END, "", 0, 0);
}

enum spill_status spill_tracefile_write(const char *path, const struct spill_trace *trace)
{
    char temporary[PATH_MAX];
    if (spill_fmt(temporary, sizeof(temporary), "%s.tmp", path) + 1 >= sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return SPILL_ERR_IO;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return SPILL_ERR_IO;
    bool written = write_trace(fd, trace);
    int saved = errno;
    if (close(fd) != 0 && written) {
        written = false;
        saved = errno;
    }
    if (written && rename(temporary, path) == 0)
        return SPILL_OK;
    if (written)
        saved = errno;
    (void)unlink(temporary);
    errno = saved;
    return SPILL_ERR_IO;
}

/* --- reading: a cursor over the whole file in memory --- */

struct reader {
    const unsigned char *at, *end;
    char *complaint;
    size_t complaint_len;
};

static enum spill_status complain(struct reader *r, enum spill_status status, const char *why)
{
    if (r->complaint != NULL && r->complaint_len > 0)
        spill_fmt(r->complaint, r->complaint_len, "%s", why);
    return status;
}

static enum spill_status load(struct reader *r, const char *path, unsigned char **data)
{
    FILE *file = fopen(path, "rb");
    long bytes = 0;
    if (file == NULL)
        return complain(r, SPILL_ERR_IO, strerror(errno));
    struct stat st;
    /* A folder opens, and claims an absurd size. */
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        return complain(r, SPILL_ERR_IO, "it is a folder");
    }
    if (fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0) {
        fclose(file);
        return complain(r, SPILL_ERR_IO, "not a regular file");
    }
    rewind(file);
    *data = malloc((size_t)bytes + 1);
    if (*data == NULL) {
        fclose(file);
        return complain(r, SPILL_ERR_NOMEM, "out of memory");
    }
    size_t got = fread(*data, 1, (size_t)bytes, file);
    fclose(file);
    r->at = *data;
    r->end = *data + got;
    return SPILL_OK;
}

/* A new array of COUNT elements of ELEM bytes, filled from payload elements of another size. */
static void *copy_elements(const unsigned char *payload, size_t elem_bytes, size_t count,
                           size_t elem)
{
    unsigned char *array = calloc(count + 1, elem);
    for (size_t i = 0; array != NULL && i < count; i++)
        memcpy(array + i * elem, payload + i * elem_bytes, elem_bytes < elem ? elem_bytes : elem);
    return array;
}

static enum spill_status take_record(struct reader *r, struct spill_trace *t,
                                     const struct spill_tracelayout_record *record,
                                     const unsigned char *payload, unsigned *seen)
{
    struct spill_tracelayout_meta meta = {0};
    struct {
        void **array;
        uint32_t *count;
        size_t elem, least; /* bytes of an element: here, and in the oldest files */
    } table;
    switch (record->type) {
    case SPILL_TRACELAYOUT_META:
        if (record->count != 1)
            return complain(r, SPILL_ERR_FORMAT, "damaged meta record");
        memcpy(&meta, payload,
               record->elem_bytes < sizeof(meta) ? record->elem_bytes : sizeof(meta));
        t->out = (struct spill_trace_link){meta.out_latency_ns, meta.out_bytes_per_s};
        t->in = (struct spill_trace_link){meta.in_latency_ns, meta.in_bytes_per_s};
        t->page_bytes = meta.page_bytes;
        t->gpu_bytes = meta.gpu_bytes;
        t->gpu_budget = meta.gpu_budget;
        t->peak_bytes = meta.peak_bytes;
        t->small_bytes = meta.small_bytes;
        t->step_ns = meta.step_ns;
        t->paged_bytes = meta.paged_bytes;
        t->duplex_permille = meta.duplex_permille;
        t->iterations = meta.iterations;
        t->device_name = meta.device_name;
        t->program = meta.program;
        t->others = meta.others;
        t->log_bytes = meta.log_bytes;
        t->log_max = meta.log_max;
        t->hooked_calls = meta.hooked_calls;
        *seen |= 1u << record->type;
        return SPILL_OK;
    case SPILL_TRACELAYOUT_NAMES:
        table.array = (void **)&t->names, table.count = &t->name_bytes;
        table.elem = table.least = 1;
        break;
    case SPILL_TRACELAYOUT_OPS:
        table.array = (void **)&t->ops, table.count = &t->op_count;
        table.elem = sizeof(*t->ops), table.least = offsetof(struct spill_trace_op, start_ns);
        break;
    case SPILL_TRACELAYOUT_ACCESSES:
        table.array = (void **)&t->accesses, table.count = &t->access_count;
        table.elem = table.least = sizeof(*t->accesses);
        break;
    case SPILL_TRACELAYOUT_BUFFERS:
        table.array = (void **)&t->buffers, table.count = &t->buffer_count;
        table.elem = table.least = sizeof(*t->buffers);
        break;
    case SPILL_TRACELAYOUT_DIFFERENCES:
        table.array = (void **)&t->differences, table.count = &t->difference_count;
        table.elem = table.least = sizeof(*t->differences);
        break;
    default:
        return SPILL_OK; /* a newer writer's record, or the end */
    }
    if (*table.array != NULL || record->count > UINT32_MAX - 1)
        return complain(r, SPILL_ERR_FORMAT, "a table stands twice or is too long");
    if (record->elem_bytes < table.least)
        return complain(r, SPILL_ERR_FORMAT, "elements of a table are too short: damaged");
    *table.array = copy_elements(payload, record->elem_bytes, record->count, table.elem);
    if (*table.array == NULL)
        return complain(r, SPILL_ERR_NOMEM, "out of memory");
    *table.count = (uint32_t)record->count;
    *seen |= 1u << record->type;
    return SPILL_OK;
}

static bool name_ok(const struct spill_trace *t, uint32_t offset)
{
    return offset == SPILL_TRACE_NONE || offset < t->name_bytes;
}

/* Everything later indexes without looking, so look here. */
static bool indices_ok(const struct spill_trace *t)
{
    if (t->name_bytes == 0 || t->names[t->name_bytes - 1] != '\0' || t->page_bytes == 0 ||
        !name_ok(t, t->device_name) || !name_ok(t, t->program))
        return false;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (t->ops[i].access_first > t->access_count ||
            t->ops[i].access_count > t->access_count - t->ops[i].access_first ||
            !name_ok(t, t->ops[i].name))
            return false;
    for (uint32_t i = 0; i < t->access_count; i++)
        if (t->accesses[i].buffer >= t->buffer_count)
            return false;
    for (uint32_t i = 0; i < t->difference_count; i++)
        if (t->differences[i].op > t->op_count || !name_ok(t, t->differences[i].expected) ||
            !name_ok(t, t->differences[i].found))
            return false;
    for (uint32_t i = 0; i < t->buffer_count; i++)
        if (t->buffers[i].life > SPILL_TRACE_ITERATION ||
            t->buffers[i].pin >= SPILL_TRACE_PIN_COUNT || !name_ok(t, t->buffers[i].site) ||
            (t->buffers[i].life == SPILL_TRACE_ITERATION &&
             (t->buffers[i].birth_op > t->op_count || t->buffers[i].free_op > t->op_count)))
            return false;
    return true;
}

/* Nor do sums and products overflow later: a PiB a buffer, 8 PiB and two years an iteration. */
static bool amounts_ok(const struct spill_trace *t)
{
    const uint64_t bytes_most = (uint64_t)1 << 50, total_most = (uint64_t)1 << 53;
    const uint64_t ns_most = (uint64_t)1 << 56;
    uint64_t bytes = 0, ns = 0;
    for (uint32_t i = 0; i < t->buffer_count; i++) {
        const struct spill_trace_buffer *buffer = &t->buffers[i];
        if (buffer->bytes > bytes_most || buffer->address > UINT64_MAX - total_most ||
            (bytes += buffer->bytes) > total_most)
            return false;
    }
    for (uint32_t i = 0; i < t->op_count; i++)
        if (t->ops[i].start_ns > ns_most || t->ops[i].duration_ns > ns_most ||
            t->ops[i].paged_bytes > total_most || (ns += t->ops[i].duration_ns) > ns_most)
            return false;
    return t->step_ns <= 2 * ns_most && t->page_bytes <= bytes_most && t->gpu_bytes <= total_most &&
           t->gpu_budget <= total_most && t->peak_bytes <= total_most &&
           t->small_bytes <= total_most && t->paged_bytes <= total_most;
}

static enum spill_status parse(struct reader *r, struct spill_trace *t)
{
    struct spill_tracelayout_head head;
    unsigned seen = 0;
    if ((size_t)(r->end - r->at) < sizeof(head))
        return complain(r, SPILL_ERR_FORMAT, "too short for a spillway trace");
    memcpy(&head, r->at, sizeof(head));
    if (memcmp(head.magic, SPILL_TRACELAYOUT_MAGIC, sizeof(head.magic)) != 0)
        return complain(r, SPILL_ERR_FORMAT, "not a spillway trace");
    if (head.order != SPILL_TRACELAYOUT_ORDER)
        return complain(r, SPILL_ERR_FORMAT, "written on a machine of the other byte order");
    if (head.version > SPILL_TRACEFILE_VERSION)
        return complain(r, SPILL_ERR_VERSION,
                        "written by a newer spillway: use that one to read it");
    r->at += sizeof(head);
    struct spill_tracelayout_record record;
    while ((size_t)(r->end - r->at) >= sizeof(record)) {
        memcpy(&record, r->at, sizeof(record));
        r->at += sizeof(record);
        uint64_t bytes;
        if (__builtin_mul_overflow((uint64_t)record.elem_bytes, record.count, &bytes) ||
            bytes > (uint64_t)(r->end - r->at))
            break; /* cut short here */
        if (record.checksum != spill_tracelayout_checksum(r->at, (size_t)bytes))
            return complain(r, SPILL_ERR_FORMAT, "checksum of a record does not match: damaged");
        enum spill_status status = take_record(r, t, &record, r->at, &seen);
        if (status != SPILL_OK)
            return status;
        uint64_t padded = (bytes + 7) & ~UINT64_C(7);
        r->at += padded < (uint64_t)(r->end - r->at) ? padded : (uint64_t)(r->end - r->at);
    }
    unsigned needed = 1u << SPILL_TRACELAYOUT_META | 1u << SPILL_TRACELAYOUT_NAMES |
                      1u << SPILL_TRACELAYOUT_OPS | 1u << SPILL_TRACELAYOUT_ACCESSES |
                      1u << SPILL_TRACELAYOUT_BUFFERS;
    if ((seen & needed) != needed)
        return complain(r, SPILL_ERR_FORMAT, "cut short: not all tables are there");
    if (!indices_ok(t))
        return complain(r, SPILL_ERR_FORMAT, "an index points outside its table: damaged");
    if (!amounts_ok(t))
        return complain(r, SPILL_ERR_FORMAT, "absurd sizes or times: damaged");
    return SPILL_OK;
}

enum spill_status spill_tracefile_parse(const void *data, size_t bytes, struct spill_trace **trace,
                                        char *complaint, size_t complaint_len)
{
    struct reader r = {.at = data, .complaint = complaint, .complaint_len = complaint_len};
    struct spill_trace *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return complain(&r, SPILL_ERR_NOMEM, "out of memory");
    r.end = r.at + bytes;
    enum spill_status status = parse(&r, t);
    if (status != SPILL_OK) {
        spill_tracefile_free(t);
        return status;
    }
    *trace = t;
    return SPILL_OK;
}

enum spill_status spill_tracefile_read(const char *path, struct spill_trace **trace,
                                       char *complaint, size_t complaint_len)
{
    struct reader r = {.complaint = complaint, .complaint_len = complaint_len};
    unsigned char *data = NULL;
    enum spill_status status = load(&r, path, &data);
    if (status == SPILL_OK)
        status =
            spill_tracefile_parse(data, (size_t)(r.end - r.at), trace, complaint, complaint_len);
    free(data);
    return status;
}

void spill_tracefile_free(struct spill_trace *trace)
{
    if (trace == NULL)
        return;
    free(trace->ops);
    free(trace->accesses);
    free(trace->buffers);
    free(trace->differences);
    free(trace->names);
    free(trace);
}
