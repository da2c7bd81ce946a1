/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges as marks, without linking NVTX: its headers load the library that
 * NVTX_INJECTION64_PATH names and call the one function below, which puts ours where theirs do
 * nothing. The protocol is declared here, as far as it is needed; tests/e2e/marks.sh holds it
 * against NVIDIA's headers. */
#include "preload/nvtx.h"

#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "preload/mark.h"

enum { CALLBACKS = 1 };                                           /* export table */
enum { CORE = 1, CORE2 = 5 };                                     /* modules */
enum { RANGE_START_EX = 4, RANGE_START_A, RANGE_START_W };        /* of CORE */
enum { RANGE_PUSH_EX = 8, RANGE_PUSH_A, RANGE_PUSH_W };           /* of CORE */
enum { DOMAIN_RANGE_START_EX = 2, DOMAIN_RANGE_PUSH_EX = 4 };     /* of CORE2 */
enum { DOMAIN_REGISTER_STRING_A = 10, DOMAIN_REGISTER_STRING_W }; /* of CORE2 */
enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE, MESSAGE_REGISTERED };
enum { NOT_TRACKED = -2 }; /* a push's answer: no level */

typedef void (*function_pointer)(void);

struct callbacks {
    size_t struct_size;
    int (*module_functions)(int module, function_pointer ***table, unsigned int *size);
};

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        const void *registered;
    } message;
};

static const char named, other; /* their addresses are handles of registered strings */

static bool ascii(const char *text)
{
    return text != NULL && strcmp(text, spill_mark_range()) == 0;
}

static bool unicode(const wchar_t *text)
{
    const char *range = spill_mark_range();
    if (text == NULL)
        return false;
    while (*range != '\0' && (wchar_t)(unsigned char)*range == *text)
        range++, text++;
    return *range == '\0' && *text == L'\0';
}

static bool message(const struct attributes *a)
{
    if (a == NULL || a->size < sizeof(*a))
        return false;
    return a->message_type == MESSAGE_ASCII        ? ascii(a->message.ascii)
           : a->message_type == MESSAGE_UNICODE    ? unicode(a->message.unicode)
           : a->message_type == MESSAGE_REGISTERED ? a->message.registered == &named
                                                   : false;
}

static int pushed(bool wanted)
{
    if (wanted)
        spill_mark_here();
    return NOT_TRACKED;
}

static uint64_t started(bool wanted)
{
    if (wanted)
        spill_mark_here();
    return 0;
}

static int push_ex(const struct attributes *a)
{
    return pushed(message(a));
}

static int push_a(const char *text)
{
    return pushed(ascii(text));
}

static int push_w(const wchar_t *text)
{
    return pushed(unicode(text));
}

static int domain_push_ex(void *domain, const struct attributes *a)
{
    (void)domain;
    return pushed(message(a));
}

static uint64_t start_ex(const struct attributes *a)
{
    return started(message(a));
}

static uint64_t start_a(const char *text)
{
    return started(ascii(text));
}

static uint64_t start_w(const wchar_t *text)
{
    return started(unicode(text));
}

static uint64_t domain_start_ex(void *domain, const struct attributes *a)
{
    (void)domain;
    return started(message(a));
}

static const void *register_a(void *domain, const char *text)
{
    (void)domain;
    return ascii(text) ? &named : &other;
}

static const void *register_w(void *domain, const wchar_t *text)
{
    (void)domain;
    return unicode(text) ? &named : &other;
}

static const struct entry {
    int module;
    unsigned int id;
    function_pointer function;
} entries[] = {
    {CORE, RANGE_START_EX, (function_pointer)start_ex},
    {CORE, RANGE_START_A, (function_pointer)start_a},
    {CORE, RANGE_START_W, (function_pointer)start_w},
    {CORE, RANGE_PUSH_EX, (function_pointer)push_ex},
    {CORE, RANGE_PUSH_A, (function_pointer)push_a},
    {CORE, RANGE_PUSH_W, (function_pointer)push_w},
    {CORE2, DOMAIN_RANGE_START_EX, (function_pointer)domain_start_ex},
    {CORE2, DOMAIN_RANGE_PUSH_EX, (function_pointer)domain_push_ex},
    {CORE2, DOMAIN_REGISTER_STRING_A, (function_pointer)register_a},
    {CORE2, DOMAIN_REGISTER_STRING_W, (function_pointer)register_w},
};

/* Called once for each object of the program that carries NVTX. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    const struct callbacks *callbacks;
    if (*spill_mark_range() == '\0' || (callbacks = export_table(CALLBACKS)) == NULL ||
        callbacks->struct_size < sizeof(*callbacks))
        return 0;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        function_pointer **table = NULL;
        unsigned int size = 0;
        if (callbacks->module_functions(entries[i].module, &table, &size) == 0 || table == NULL ||
            entries[i].id >= size)
            return 0;
        *table[entries[i].id] = entries[i].function;
    }
    return 1;
}
