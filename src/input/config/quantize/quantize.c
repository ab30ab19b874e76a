/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/quantize/quantize.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/json/number.h"

typedef enum settings { NO_SETTINGS, OF_BLOCKS, BITS_AND_GROUP } settings;

static const struct {
    const char *name;
    settings settings;
    ms_upcasting upcasting;
    uint32_t bits; /* that may be said, as a sum; the usual ones are 4 */
} kinds[] = {
    [MS_QUANTIZE_NONE] = {"none", NO_SETTINGS, MS_UPCAST_NEVER, 0},
    [MS_QUANTIZE_NF4] = {"nf4", OF_BLOCKS, MS_UPCAST_USUALLY, 0},
    [MS_QUANTIZE_FP4] = {"fp4", OF_BLOCKS, MS_UPCAST_USUALLY, 0},
    [MS_QUANTIZE_INT8] = {"int8", NO_SETTINGS, MS_UPCAST_USUALLY, 0},
    [MS_QUANTIZE_GPTQ] = {"gptq", BITS_AND_GROUP, MS_UPCAST_NEVER, 2 | 4 | 8},
    [MS_QUANTIZE_AWQ] = {"awq", BITS_AND_GROUP, MS_UPCAST_IF_SAID, 4},
    [MS_QUANTIZE_FP8_BLOCK] = {"fp8-block", NO_SETTINGS, MS_UPCAST_IF_SAID, 0},
    [MS_QUANTIZE_MXFP4] = {"mxfp4", NO_SETTINGS, MS_UPCAST_NEVER, 0},
    [MS_QUANTIZE_COMPRESSED] = {"compressed-tensors", NO_SETTINGS, MS_UPCAST_NEVER, 0},
};
_Static_assert(sizeof kinds / sizeof kinds[0] == MS_QUANTIZE_KIND_COUNT, "a kind has no row");

enum { USUAL_BITS = 4, USUAL_GROUP = 128 };

ms_upcasting ms_upcasting_of(ms_quantize_kind kind)
{
    return kinds[kind].upcasting;
}

const char *ms_quantization_refusal(const ms_quantization *q)
{
    uint32_t group = q->group_weights;
    if (kinds[q->kind].settings != BITS_AND_GROUP)
        return NULL;
    if ((q->bits & (q->bits - 1)) != 0 || (q->bits & kinds[q->kind].bits) == 0)
        return q->kind == MS_QUANTIZE_GPTQ ? "gptq is supported in 2, 4 or 8 bits"
                                           : "awq is supported in 4 bits";
    if (group != 0 && (group < 16 || group > 1024 || (group & (group - 1)) != 0))
        return "a group is a power of two from 16 to 1024, or -1: the whole column";
    return NULL;
}

/* ---- reading and writing the text ---- */

static ms_status fail_unknown(const char *text, ms_error *err)
{
    char hint[96];
    ms_nearest nearest = ms_nearest_same(text);
    for (size_t i = 0; i < MS_QUANTIZE_COMPRESSED; i++)
        ms_nearest_offer(&nearest, kinds[i].name);
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.40s', expected none, nf4, fp4, nf4:double, fp4:double, nf4:bf16, "
                   "nf4:double:bf16, int8, gptq:4:128, awq:4:128, fp8-block or mxfp4%s",
                   text, ms_nearest_hint(&nearest, hint, sizeof hint));
}

/* bitsandbytes' two widths; its two types of four bits take the same bytes. */
static const struct {
    const char *name;
    ms_quantize_kind kind;
} widths[] = {{"4", MS_QUANTIZE_NF4},  {"4bit", MS_QUANTIZE_NF4},  {"4-bit", MS_QUANTIZE_NF4},
              {"8", MS_QUANTIZE_INT8}, {"8bit", MS_QUANTIZE_INT8}, {"8-bit", MS_QUANTIZE_INT8}};

static bool find_kind(const char *text, size_t bytes, ms_quantize_kind *kind)
{
    char name[16];
    if (bytes >= sizeof name)
        return false;
    memcpy(name, text, bytes);
    name[bytes] = '\0';
    for (size_t i = 0; i < MS_QUANTIZE_COMPRESSED; i++)
        if (ms_name_equal(name, kinds[i].name)) {
            *kind = (ms_quantize_kind)i;
            return true;
        }
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (ms_name_equal(name, widths[i].name)) {
            *kind = widths[i].kind;
            return true;
        }
    return false;
}

/* ":BITS:GROUP", of which the group, or both, may be omitted. */
static bool read_bits(const char *text, ms_quantization *q)
{
    uint64_t bits = USUAL_BITS, group = USUAL_GROUP;
    size_t length = strcspn(text + (*text == ':'), ":");
    const char *rest = *text ? text + 1 + length : text;
    if (*text && ms_number_count(text + 1, length, &bits) != MS_COUNT_OK)
        return false;
    if (strcmp(rest, ":-1") == 0)
        group = 0;
    else if (*rest && ms_number_count(rest + 1, strlen(rest + 1), &group) != MS_COUNT_OK)
        return false;
    if (bits > 64 || group > UINT32_MAX || (group == 0 && strcmp(rest, ":-1") != 0))
        return false;
    q->bits = (uint32_t)bits;
    q->group_weights = (uint32_t)group;
    return true;
}

bool ms_quantization_is_storage(ms_dtype dtype)
{
    return dtype == MS_DTYPE_BF16 || dtype == MS_DTYPE_F16 || dtype == MS_DTYPE_F32;
}

/* "[:double][:TYPE]" */
static bool read_blocks(const char *text, ms_quantization *q)
{
    static const char word[] = ":double";
    enum { LENGTH = sizeof word - 1 };
    q->is_double = strncmp(text, word, LENGTH) == 0 && (!text[LENGTH] || text[LENGTH] == ':');
    const char *rest = q->is_double ? text + LENGTH : text;
    if (!*rest)
        return true;
    q->has_storage_dtype = *rest == ':' && ms_dtype_parse(rest + 1, &q->storage_dtype);
    return q->has_storage_dtype && ms_quantization_is_storage(q->storage_dtype);
}

ms_status ms_quantization_parse(const char *text, ms_quantization *quantization, ms_error *err)
{
    ms_quantization q = {0};
    size_t bytes = strcspn(text, ":");
    const char *rest = text + bytes;
    if (!find_kind(text, bytes, &q.kind))
        return fail_unknown(text, err);
    settings form = kinds[q.kind].settings;
    bool is_known = form == BITS_AND_GROUP ? read_bits(rest, &q)
                    : form == OF_BLOCKS    ? read_blocks(rest, &q)
                                           : !*rest;
    if (!is_known)
        return fail_unknown(text, err);
    const char *refusal = ms_quantization_refusal(&q);
    if (refusal)
        return ms_fail(err, MS_ERR_USAGE, "'%.40s': %s", text, refusal);
    *quantization = q;
    return MS_OK;
}

const char *ms_quantization_text(ms_arena *arena, const ms_quantization *q)
{
    const char *name = kinds[q->kind].name;
    if (kinds[q->kind].settings != BITS_AND_GROUP)
        return ms_arena_printf(
            arena, "%s%s%s%s", name, q->is_double ? ":double" : "", q->has_storage_dtype ? ":" : "",
            q->has_storage_dtype ? ms_dtype_info_of(q->storage_dtype)->short_name : "");
    if (q->group_weights == 0)
        return ms_arena_printf(arena, "%s:%" PRIu32 ":-1", name, q->bits);
    return ms_arena_printf(arena, "%s:%" PRIu32 ":%" PRIu32, name, q->bits, q->group_weights);
}
