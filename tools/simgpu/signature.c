/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel signatures from an image's DWARF: offset and size of each parameter as the toolkit lays
 * them out (each at its natural alignment), and the types that libffi passes by the host's ABI. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

static ffi_type *type_of(Dwarf_Die *die, int depth);

static ffi_type *plain(uint64_t bytes, bool floating, bool is_signed)
{
    if (floating)
        return bytes == 4 ? &ffi_type_float : bytes == 8 ? &ffi_type_double : NULL;
    switch (bytes) {
    case 1:
        return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2:
        return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4:
        return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    case 8:
        return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
    default:
        return NULL;
    }
}

static bool type_die(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die first;
    if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &first) == NULL)
        return false;
    return dwarf_peel_type(&first, type) == 0;
}

struct elements {
    ffi_type **at;
    size_t count, room;
};

static bool push(struct elements *e, ffi_type *type)
{
    if (type == NULL)
        return false;
    if (e->count + 1 >= e->room) {
        size_t room = e->room != 0 ? e->room * 2 : 8;
        ffi_type **grown = realloc(e->at, room * sizeof(ffi_type *));
        if (grown == NULL)
            return false;
        e->at = grown;
        e->room = room;
    }
    e->at[e->count++] = type;
    e->at[e->count] = NULL;
    return true;
}

static uint64_t array_count(Dwarf_Die *array)
{
    uint64_t count = 1;
    Dwarf_Die child;
    if (dwarf_child(array, &child) != 0)
        return 0;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Word n;
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (dwarf_attr(&child, DW_AT_count, &attribute) != NULL &&
            dwarf_formudata(&attribute, &n) == 0)
            count *= n;
        else if (dwarf_attr(&child, DW_AT_upper_bound, &attribute) != NULL &&
                 dwarf_formudata(&attribute, &n) == 0)
            count *= n + 1;
        else
            return 0;
    } while (dwarf_siblingof(&child, &child) == 0);
    return count;
}

static bool add_members(struct elements *e, Dwarf_Die *die, int depth)
{
    Dwarf_Die child, type;
    if (dwarf_child(die, &child) != 0)
        return true;
    do {
        int tag = dwarf_tag(&child);
        Dwarf_Attribute attribute;
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
            continue;
        if (dwarf_attr(&child, DW_AT_external, &attribute) != NULL)
            continue; /* a static member */
        if (!type_die(&child, &type))
            return false;
        Dwarf_Word bytes;
        if (tag == DW_TAG_inheritance && dwarf_aggregate_size(&type, &bytes) == 0 && bytes <= 1)
            continue; /* an empty base */
        uint64_t n = 1;
        if (dwarf_tag(&type) == DW_TAG_array_type) {
            Dwarf_Die element;
            n = array_count(&type);
            if (!type_die(&type, &element))
                return false;
            type = element;
        }
        ffi_type *t = type_of(&type, depth + 1);
        for (uint64_t i = 0; i < n; i++)
            if (!push(e, t))
                return false;
    } while (dwarf_siblingof(&child, &child) == 0);
    return true;
}

static ffi_type *aggregate(Dwarf_Die *die, int depth)
{
    Dwarf_Word bytes = 0;
    struct elements e = {0};
    Dwarf_Attribute attribute;
    Dwarf_Word aligned = 0;
    if (dwarf_aggregate_size(die, &bytes) != 0)
        return NULL;
    if (dwarf_attr(die, DW_AT_alignment, &attribute) != NULL)
        dwarf_formudata(&attribute, &aligned);
    bool ok = true;
    if (dwarf_tag(die) == DW_TAG_union_type) {
        /* Only its class matters, and no kernel passes a union of floats alone in registers. */
        for (uint64_t i = 0; ok && i < (bytes + 7) / 8; i++)
            ok = push(&e, bytes >= 8 ? &ffi_type_uint64 : &ffi_type_uint32);
    } else {
        ok = add_members(&e, die, depth);
    }
    if (ok && e.count == 0)
        ok = push(&e, &ffi_type_uint8);
    ffi_type *t = ok ? calloc(1, sizeof *t) : NULL;
    if (t == NULL) {
        free(e.at);
        return NULL;
    }
    t->type = FFI_TYPE_STRUCT;
    t->elements = e.at;
    unsigned short natural = 1;
    for (size_t i = 0; i < e.count; i++)
        if (e.at[i]->alignment > natural)
            natural = e.at[i]->alignment;
    t->alignment = aligned > natural ? (unsigned short)aligned : natural;
    t->size = bytes;
    return t;
}

static ffi_type *type_of(Dwarf_Die *die, int depth)
{
    Dwarf_Word bytes = 0, encoding = 0;
    Dwarf_Attribute attribute;
    if (depth > 16)
        return NULL;
    switch (dwarf_tag(die)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_ptr_to_member_type:
    case DW_TAG_unspecified_type:
        return &ffi_type_pointer;
    case DW_TAG_base_type:
        if (dwarf_aggregate_size(die, &bytes) != 0)
            return NULL;
        if (dwarf_attr(die, DW_AT_encoding, &attribute) != NULL)
            dwarf_formudata(&attribute, &encoding);
        return plain(bytes, encoding == DW_ATE_float,
                     encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
    case DW_TAG_enumeration_type:
        return dwarf_aggregate_size(die, &bytes) == 0 ? plain(bytes, false, false) : NULL;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return aggregate(die, depth);
    default:
        return NULL;
    }
}

static bool read_parameters(struct simgpu_function *f, Dwarf_Die *die)
{
    Dwarf_Die child, type;
    ffi_type *types[SIMGPU_MAX_PARAMS];
    f->count = 0;
    if (dwarf_child(die, &child) == 0) {
        do {
            if (dwarf_tag(&child) != DW_TAG_formal_parameter)
                continue;
            if (f->count == SIMGPU_MAX_PARAMS || !type_die(&child, &type))
                return false;
            types[f->count] = type_of(&type, 0);
            /* The call below aligns what goes to the stack to 16 bytes. */
            if (types[f->count] == NULL || types[f->count]->alignment > 16)
                return false;
            f->count++;
        } while (dwarf_siblingof(&child, &child) == 0);
    }
    f->types = calloc(f->count + 1, sizeof *f->types);
    f->offset = calloc(f->count + 1, sizeof *f->offset);
    f->size = calloc(f->count + 1, sizeof *f->size);
    if (f->types == NULL || f->offset == NULL || f->size == NULL)
        return false;
    size_t at = 0;
    for (unsigned int i = 0; i < f->count; i++) {
        size_t alignment = types[i]->alignment;
        at = (at + alignment - 1) / alignment * alignment;
        f->types[i] = types[i];
        f->offset[i] = at;
        f->size[i] = types[i]->size;
        at += types[i]->size;
    }
    f->param_bytes = at;
    return true;
}

struct search {
    struct simgpu_function *function;
    bool found, read;
};

static void walk(Dwarf_Die *die, struct search *s)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_namespace) {
            walk(&child, s);
        } else if (tag == DW_TAG_subprogram) {
            Dwarf_Attribute attribute;
            Dwarf_Addr low;
            const char *name = NULL;
            if (dwarf_lowpc(&child, &low) != 0)
                continue;
            if (dwarf_attr_integrate(&child, DW_AT_linkage_name, &attribute) != NULL)
                name = dwarf_formstring(&attribute);
            if (name == NULL)
                name = dwarf_diename(&child);
            if (name != NULL && strcmp(name, s->function->name) == 0) {
                s->found = true;
                s->read = read_parameters(s->function, &child);
            }
        }
    } while (!s->found && dwarf_siblingof(&child, &child) == 0);
}

bool simgpu_signature_read(struct simgpu_function *f)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)f->module->image, f->module->image_bytes);
    Dwarf *dwarf = elf != NULL ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    struct search s = {.function = f};
    Dwarf_Off offset = 0, next;
    size_t header;
    while (dwarf != NULL && !s.found &&
           dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL) == 0) {
        Dwarf_Die unit;
        if (dwarf_offdie(dwarf, offset + header, &unit) != NULL)
            walk(&unit, &s);
        offset = next;
    }
    if (dwarf != NULL)
        dwarf_end(dwarf);
    if (elf != NULL)
        elf_end(elf);
    if (!s.read)
        simgpu_say("kernel %s: %s", f->name,
                   s.found ? "a parameter type that is not understood" : "no debug information");
    return s.read;
}
