/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/quantize/quantize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/number.h"
#include "base/text/nearest.h"
#include "base/text/pattern.h"
#include "base/text/plain_names.h"

/* ---- quantize ---- */

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

/* Why the bits or groups of a gptq or awq file are unsupported: the end of a sentence, or NULL. */
static const char *quantization_refusal(const ms_quantization *q)
{
    uint32_t group = q->group_weights;
    if (kinds[q->kind].settings != BITS_AND_GROUP)
        return NULL;
    if ((q->bits & (q->bits - 1)) != 0 || (q->bits & kinds[q->kind].bits) == 0)
        return q->kind == MS_QUANTIZE_GPTQ ? "gptq is supported in 2, 4 or 8 bits"
                                           : "awq is supported in 4 bits";
    if (group != 0 && (group < 16 || group > 1024 || (group & (group - 1)) != 0))
        return "a group is a power of two from 16 to 1024, or -1 for the whole column";
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

/* Whether packed weights can be stored as numbers of that type, other than bytes. */
static bool quantization_is_storage(ms_dtype dtype)
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
    return q->has_storage_dtype && quantization_is_storage(q->storage_dtype);
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
    const char *refusal = quantization_refusal(&q);
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

/* ---- quantize modules ---- */

/* Which linear layers a loader converts: transformers' should_convert_module. A name excepts
 * every module whose path begins with it, up to a boundary between modules, or ends with it;
 * it may be a regular expression. */

struct ms_exceptions {
    const ms_quantization *quantization;
    ms_plain_names *names;
    ms_pattern **patterns; /* one for each name; NULL for those without operators */
    uint64_t steps;        /* that matching may still take */
};

ms_status ms_exceptions_new(const ms_quantization *q, ms_exceptions **exceptions, ms_error *err)
{
    ms_exceptions *made = calloc(1, sizeof *made);
    *exceptions = NULL;
    if (made)
        made->patterns = calloc((size_t)q->exception_count + 1, sizeof(ms_pattern *));
    if (!made || !made->patterns) {
        free(made);
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
    }
    made->quantization = q;
    made->steps = MS_PATTERN_MOST_STEPS;
    ms_status status = ms_plain_names_new(q->exceptions, q->exception_count, &made->names, err);
    for (uint32_t i = 0; i < q->exception_count && status == MS_OK; i++)
        if (!ms_name_is_plain(q->exceptions[i]))
            status = ms_pattern_new(q->exceptions[i], &made->patterns[i], err);
    if (status == MS_OK)
        *exceptions = made;
    else
        ms_exceptions_free(made);
    return status;
}

void ms_exceptions_free(ms_exceptions *exceptions)
{
    if (!exceptions)
        return;
    for (uint32_t i = 0; i < exceptions->quantization->exception_count; i++)
        ms_pattern_free(exceptions->patterns[i]);
    free(exceptions->patterns);
    ms_plain_names_free(exceptions->names);
    free(exceptions);
}

/* Whether a pattern may end behind that many bytes of a path. */
static bool is_boundary(const char *path, size_t length)
{
    return (length > 0 && path[length - 1] == '.') || path[length] == '.' || path[length] == '\0';
}

static bool is_beginning(ms_exceptions *e, const char *path, size_t length)
{
    if (ms_plain_names_find_dotted(e->names, path, length, &e->steps) != MS_NO_NAME)
        return true;
    for (uint32_t i = 0; i < e->quantization->exception_count; i++)
        if (e->patterns[i] && ms_pattern_matches(e->patterns[i], path, 0, length, &e->steps))
            return true;
    return false;
}

static bool excepts(ms_exceptions *e, const char *path)
{
    size_t length = strlen(path);
    for (size_t start = 0; start <= length; start++)
        if (ms_plain_names_find(e->names, path + start, length - start) != MS_NO_NAME)
            return true;
    for (size_t end = length; end > 0; end--)
        if (is_boundary(path, end) && is_beginning(e, path, end))
            return true;
    return false;
}

/* optimum's rule: an end of the name, whether or not a module begins there. */
static bool is_named(ms_exceptions *e, const char *path)
{
    const ms_quantization *q = e->quantization;
    size_t length = strlen(path);
    for (uint32_t i = 0; i < q->converted_count && e->steps > 0; i++, e->steps--) {
        size_t end = strlen(q->converted[i]);
        if (end <= length && strcmp(path + length - end, q->converted[i]) == 0)
            return true;
    }
    return !q->converted;
}

bool ms_exceptions_convert(ms_exceptions *e, const char *module, bool is_head)
{
    const ms_quantization *q = e->quantization;
    bool is_excepted = is_head && (!q->exceptions || q->is_default_excepted);
    return !is_excepted && is_named(e, module) && !excepts(e, module);
}

bool ms_exceptions_gave_up(const ms_exceptions *exceptions)
{
    return exceptions->steps == 0;
}

/* ---- quantize read ---- */

/* A member that is there and not null. */
static bool find(ms_json_value root, const char *name, ms_json_value *value)
{
    return ms_json_find(root, name, value) && ms_json_kind_of(*value) != MS_JSON_NULL;
}

/* The string of a member, or what is there already. */
static ms_status read_text(ms_json_value root, const char *name, ms_json_value *value,
                           const char **text, ms_error *err)
{
    return find(root, name, value) ? ms_json_get_string(*value, text, err) : MS_OK;
}

static ms_status read_flag(ms_json_value root, const char *name, bool *truth, ms_error *err)
{
    ms_json_value value;
    return find(root, name, &value) ? ms_json_get_bool(value, truth, err) : MS_OK;
}

/* A member must have that text, if it is there. */
static ms_status expect_text(ms_json_value root, const char *name, const char *wanted,
                             ms_error *err)
{
    ms_json_value value = root;
    const char *text = wanted;
    ms_status status = read_text(root, name, &value, &text, err);
    if (status == MS_OK && strcmp(text, wanted) != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; %s is", text, wanted);
    return status;
}

/* ---- bitsandbytes ---- */

static ms_status read_four_bit_type(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "fp4"; /* BitsAndBytesConfig's default */
    ms_status status = read_text(root, "bnb_4bit_quant_type", &value, &type, err);
    if (status != MS_OK)
        return status;
    if (strcmp(type, "nf4") == 0)
        q->kind = MS_QUANTIZE_NF4;
    else if (strcmp(type, "fp4") == 0)
        q->kind = MS_QUANTIZE_FP4;
    else
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s': expected nf4 or fp4", type);
    return MS_OK;
}

/* BitsAndBytesConfig computes in fp32 unless it is told otherwise. */
static ms_status read_compute_dtype(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "float32";
    ms_status status = read_text(root, "bnb_4bit_compute_dtype", &value, &type, err);
    if (status != MS_OK)
        return status;
    q->has_compute_dtype = ms_dtype_parse(type, &q->compute_dtype);
    if (!q->has_compute_dtype)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not a type that can be computed in", type);
    return MS_OK;
}

/* Bytes, or numbers of a type that FSDP can share. */
static ms_status read_storage_dtype(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *type = "uint8";
    ms_status status = read_text(root, "bnb_4bit_quant_storage", &value, &type, err);
    if (status != MS_OK || strcmp(type, "uint8") == 0)
        return status;
    q->has_storage_dtype =
        ms_dtype_parse(type, &q->storage_dtype) && quantization_is_storage(q->storage_dtype);
    if (!q->has_storage_dtype)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s': expected uint8, bfloat16, float16 or float32", type);
    return MS_OK;
}

static ms_status read_eight_bits(ms_json_value root, ms_quantization *q, ms_error *err)
{
    bool keeps_half = false;
    ms_status status = read_flag(root, "llm_int8_has_fp16_weight", &keeps_half, err);
    if (status == MS_OK && keeps_half)
        return ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "llm_int8_has_fp16_weight is not supported");
    q->kind = MS_QUANTIZE_INT8;
    return status;
}

static ms_status read_bitsandbytes(ms_json_value root, ms_quantization *q, ms_error *err)
{
    bool in_four = false, in_eight = false;
    ms_status status = read_flag(root, "load_in_4bit", &in_four, err);
    if (status == MS_OK)
        status = read_flag(root, "load_in_8bit", &in_eight, err);
    if (status != MS_OK)
        return status;
    if (in_four == in_eight)
        return ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "bitsandbytes: either load_in_4bit or load_in_8bit must be true");
    if (in_eight)
        return read_eight_bits(root, q, err);
    status = read_four_bit_type(root, q, err);
    if (status == MS_OK)
        status = read_flag(root, "bnb_4bit_use_double_quant", &q->is_double, err);
    if (status == MS_OK)
        status = read_compute_dtype(root, q, err);
    return status == MS_OK ? read_storage_dtype(root, q, err) : status;
}

/* ---- gptq and awq ---- */

/* group_size is a count, or -1: the whole column. */
static ms_status read_group(ms_json_value root, const char *name, ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    uint64_t group = 128;
    if (find(root, name, &value)) {
        size_t bytes = 0;
        const char *text = ms_json_source_text(value, &bytes);
        bool is_whole = bytes == 2 && memcmp(text, "-1", 2) == 0;
        ms_status status = is_whole ? MS_OK : ms_json_get_count(value, 1, 1 << 20, &group, err);
        if (status != MS_OK)
            return status;
        if (is_whole)
            group = 0;
    }
    q->group_weights = (uint32_t)group;
    return MS_OK;
}

static ms_status read_grouped(ms_json_value root, const char *bits_name, const char *group_name,
                              ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    uint64_t bits = 4;
    ms_status status = read_group(root, group_name, q, err);
    if (status == MS_OK && find(root, bits_name, &value))
        status = ms_json_get_count(value, 1, 64, &bits, err);
    if (status != MS_OK)
        return status;
    q->bits = (uint32_t)bits;
    const char *refusal = quantization_refusal(q);
    return refusal ? ms_json_fail(err, root, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                  "%u bits in groups of %u are not supported: %s",
                                  (unsigned)q->bits, (unsigned)q->group_weights, refusal)
                   : MS_OK;
}

static ms_status read_gptq(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value = root;
    const char *format = "gptq";
    q->kind = MS_QUANTIZE_GPTQ;
    ms_status status = read_text(root, "checkpoint_format", &value, &format, err);
    if (status == MS_OK && strcmp(format, "gptq") != 0 && strcmp(format, "gptq_v2") != 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.40s' is not supported; gptq and gptq_v2 are", format);
    bool is_symmetric = true;
    if (status == MS_OK)
        status = read_flag(root, "sym", &is_symmetric, err);
    if (status == MS_OK)
        status = read_flag(root, "desc_act", &q->sorts_inputs, err);
    q->is_asymmetric = !is_symmetric;
    return status == MS_OK ? read_grouped(root, "bits", "group_size", q, err) : status;
}

/* Older files have the names of the library that wrote them. */
static ms_status read_awq(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value value;
    q->kind = MS_QUANTIZE_AWQ;
    q->is_default_excepted = true;
    ms_status status = expect_text(root, "version", "gemm", err);
    if (status != MS_OK)
        return status;
    return read_grouped(root, find(root, "w_bit", &value) ? "w_bit" : "bits",
                        find(root, "q_group_size", &value) ? "q_group_size" : "group_size", q, err);
}

/* ---- fp8 and mxfp4 ---- */

static ms_status read_fp8(ms_json_value root, ms_quantization *q, ms_error *err)
{
    ms_json_value sizes, size;
    uint64_t width = 0;
    uint32_t count = 0;
    q->kind = MS_QUANTIZE_FP8_BLOCK;
    const char *format = "float";
    ms_json_value value = root;
    ms_status status = expect_text(root, "activation_scheme", "dynamic", err);
    if (status == MS_OK)
        status = read_text(root, "scale_fmt", &value, &format, err);
    q->has_power_scales = strcmp(format, "ue8m0") == 0;
    if (status == MS_OK && !q->has_power_scales)
        status = expect_text(root, "scale_fmt", "float", err);
    if (status != MS_OK || !find(root, "weight_block_size", &sizes))
        return status;
    status = ms_json_expect(sizes, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(sizes, &size); more && status == MS_OK;
         more = ms_json_next(&size), count++) {
        status = ms_json_get_count(size, 1, 1 << 20, &width, err);
        if (status == MS_OK && width != MS_FP8_BLOCK)
            count = 2; /* one too many at the end */
    }
    if (status == MS_OK && count != 2)
        return ms_json_fail(err, sizes, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "only blocks of 128 by 128 weights are supported");
    return status;
}

static ms_status read_mxfp4(ms_json_value root, ms_quantization *q, ms_error *err)
{
    (void)root;
    (void)err;
    q->kind = MS_QUANTIZE_MXFP4;
    return MS_OK;
}

/* What it says is for engines to read. */
static ms_status read_compressed(ms_json_value root, ms_quantization *q, ms_error *err)
{
    (void)root;
    (void)err;
    q->kind = MS_QUANTIZE_COMPRESSED;
    return MS_OK;
}

/* ---- modules that stay as they are ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
}

static ms_status read_exceptions(ms_arena *arena, ms_json_value names, ms_quantization *q,
                                 ms_error *err)
{
    ms_json_value name;
    ms_status status = ms_json_expect(names, MS_JSON_ARRAY, err);
    uint32_t count = status == MS_OK ? ms_json_length(names) : 0, i = 0;
    size_t states = 0;
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    for (bool more = status == MS_OK && ms_json_first(names, &name); more && status == MS_OK;
         more = ms_json_next(&name)) {
        const char *text = "";
        status = ms_json_get_string(name, &text, err);
        texts[i] = ms_arena_printf(arena, "%s", text);
        if (!texts[i])
            return no_memory(err);
        if (status == MS_OK)
            status = ms_pattern_check(name, MS_JSON_AT_VALUE, texts[i++], &states, err);
    }
    q->exceptions = texts;
    q->exception_count = i;
    return status;
}

/* GPT-QModel's rules: a pattern that a module's name begins with, "-:" in front of it if these
 * modules are not converted, and their own bits else. */
static ms_status read_rule(ms_arena *arena, ms_json_value rule, const ms_quantization *q,
                           const char **pattern, ms_error *err)
{
    ms_json_value bits;
    uint64_t own = q->bits, group = q->group_weights;
    const char *text = ms_json_key(rule);
    *pattern = NULL;
    if (strncmp(text, "-:", 2) == 0) {
        *pattern = ms_arena_printf(arena, "(%s).*", text + 2);
        return *pattern ? MS_OK : no_memory(err);
    }
    ms_status status = ms_json_expect(rule, MS_JSON_OBJECT, err);
    if (status == MS_OK && find(rule, "bits", &bits))
        status = ms_json_get_count(bits, 1, 64, &own, err);
    if (status == MS_OK && find(rule, "group_size", &bits))
        status = ms_json_get_count(bits, 1, 1 << 20, &group, err);
    if (status == MS_OK && (own != q->bits || group != q->group_weights))
        return ms_json_fail(err, rule, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "modules with their own bits or groups are not supported; unconverted "
                            "modules (\"-:...\") are");
    return status;
}

static ms_status read_rules(ms_arena *arena, ms_json_value rules, ms_quantization *q, ms_error *err)
{
    ms_json_value rule;
    ms_status status = ms_json_expect(rules, MS_JSON_OBJECT, err);
    uint32_t count = status == MS_OK ? ms_json_length(rules) : 0, i = 0;
    size_t states = 0;
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    q->is_default_excepted = true; /* the head, which no rule is needed for */
    for (bool more = status == MS_OK && ms_json_first(rules, &rule); more && status == MS_OK;
         more = ms_json_next(&rule)) {
        status = read_rule(arena, rule, q, &texts[i], err);
        if (status == MS_OK && texts[i])
            status = ms_pattern_check(rule, MS_JSON_AT_KEY, texts[i++], &states, err);
    }
    q->exceptions = texts;
    q->exception_count = i;
    return status;
}

/* Lists of names, one for each pass over a block. */
static ms_status read_converted(ms_arena *arena, ms_json_value lists, ms_quantization *q,
                                ms_error *err)
{
    ms_json_value list, name;
    uint32_t count = 0, i = 0;
    ms_status status = ms_json_expect(lists, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(lists, &list); more && status == MS_OK;
         more = ms_json_next(&list)) {
        status = ms_json_expect(list, MS_JSON_ARRAY, err);
        count += status == MS_OK ? ms_json_length(list) : 0;
    }
    const char **texts = ms_arena_array(arena, const char *, count + 1);
    if (!texts)
        return no_memory(err);
    for (bool more = status == MS_OK && ms_json_first(lists, &list); more;
         more = ms_json_next(&list))
        for (bool next = status == MS_OK && ms_json_first(list, &name); next && status == MS_OK;
             next = ms_json_next(&name)) {
            const char *text = "";
            status = ms_json_get_string(name, &text, err);
            texts[i] = ms_arena_strdup(arena, text);
            if (!texts[i++])
                return no_memory(err);
        }
    q->converted = texts;
    q->converted_count = i;
    return status;
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    ms_status (*read)(ms_json_value root, ms_quantization *q, ms_error *err);
    /* A key that says which modules are converted, and its reader. */
    struct {
        const char *key;
        ms_status (*read)(ms_arena *arena, ms_json_value value, ms_quantization *q, ms_error *err);
    } modules[2];
} methods[] = {
    {"bitsandbytes", read_bitsandbytes, {{"llm_int8_skip_modules", read_exceptions}}},
    {"gptq",
     read_gptq,
     {{"dynamic", read_rules}, {"modules_in_block_to_quantize", read_converted}}},
    {"awq", read_awq, {{"modules_to_not_convert", read_exceptions}}},
    {"fp8", read_fp8, {{"modules_to_not_convert", read_exceptions}}},
    {"mxfp4", read_mxfp4, {{NULL, NULL}}},
    {"compressed-tensors", read_compressed, {{NULL, NULL}}},
};

ms_status ms_quantization_read(ms_arena *arena, ms_json_value root, ms_quantization *quantization,
                               ms_error *err)
{
    ms_json_value value = root;
    const char *method = "bitsandbytes";
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_text(root, "quant_method", &value, &method, err);
    if (status != MS_OK)
        return status;
    *quantization = (ms_quantization){0};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(method, methods[i].name) != 0)
            continue;
        status = methods[i].read(root, quantization, err);
        for (size_t k = 0; k < 2 && methods[i].modules[k].key && status == MS_OK; k++)
            if (find(root, methods[i].modules[k].key, &value))
                status = methods[i].modules[k].read(arena, value, quantization, err);
        return status;
    }
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "quantisation by %.40s is not supported; bitsandbytes, gptq, awq, fp8 and "
                        "mxfp4 are",
                        method);
}
