/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_step.h"

#include <string.h>

#include "base/error.h"
#include "base/json/number.h"
#include "input/document/recorded.h"

/* ---- recorded ranks ---- */

/* What the ranks of a step share, as reports state it. */

/* What captures call it. */
static const struct strategy {
    const char *key, *name;
} strategies[] = {{"fsdp=", "fully_shard"},
                  {"hsdp=", "fully_shard"},
                  {"fsdp1=", "FullyShardedDataParallel"},
                  {"hsdp1=", "FullyShardedDataParallel"},
                  {"zero=1", "DeepSpeed ZeRO 1"},
                  {"zero=2", "DeepSpeed ZeRO 2"},
                  {"zero=3", "DeepSpeed ZeRO 3"},
                  {"dp=", "DistributedDataParallel"}};

/* Whether an item of "tp=2,fsdp=4" begins so. */
static bool has_item(const char *layout, const char *start)
{
    for (const char *at = layout; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, start, strlen(start)) == 0)
            return true;
    }
    return false;
}

/* NULL where there is none, or null. */
static ms_status recorded_ranks_read_text(ms_json_value v, const char **text, ms_error *err)
{
    return ms_json_kind_of(v) == MS_JSON_NULL ? MS_OK : ms_json_get_string(v, text, err);
}

/* Of a prediction, from its layout; of a capture, from the object `step`. */
static ms_status recorded_read_layout(ms_recorded_step *step, ms_json_value root, ms_error *err)
{
    ms_json_value v;
    step->data_parallel = "none";
    if (!ms_json_find_pointer(root, "/metadata/parallel", &v))
        return MS_OK;
    ms_status status = recorded_ranks_read_text(v, &step->layout, err);
    if (status != MS_OK || !step->layout)
        return status;
    step->has_stages = has_item(step->layout, "pp=");
    step->splits_work =
        step->has_stages || has_item(step->layout, "tp=") || has_item(step->layout, "cp=");
    for (size_t i = sizeof strategies / sizeof strategies[0]; i-- > 0;)
        if (has_item(step->layout, strategies[i].key))
            step->data_parallel = strategies[i].name;
    step->knows_resharding = ms_json_find_pointer(root, "/metadata/reshard_after_forward", &v);
    return step->knows_resharding ? ms_json_get_bool(v, &step->reshards, err) : MS_OK;
}

static ms_status recorded_read_sharing(ms_recorded_step *step, ms_json_value told, ms_error *err)
{
    ms_json_value v;
    if (!ms_json_find(told, "data_parallel", &v))
        return MS_OK;
    step->data_parallel = "none";
    ms_status status = recorded_ranks_read_text(v, &step->data_parallel, err);
    step->knows_resharding =
        ms_json_find(told, "reshard_after_forward", &v) && ms_json_kind_of(v) != MS_JSON_NULL;
    return status == MS_OK && step->knows_resharding ? ms_json_get_bool(v, &step->reshards, err)
                                                     : status;
}

/* ---- recorded step ---- */

enum { MOST_LAYERS = 1 << 16 };

/* ---- members that may be absent, or null ---- */

static ms_status read_text(ms_json_value object, const char *pointer, const char **text,
                           ms_error *err)
{
    ms_json_value v;
    if (!ms_json_find_pointer(object, pointer, &v) || ms_json_kind_of(v) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_string(v, text, err);
}

static ms_status read_count(ms_json_value object, const char *pointer, uint64_t *count,
                            ms_error *err)
{
    ms_json_value v;
    if (!ms_json_find_pointer(object, pointer, &v) || ms_json_kind_of(v) == MS_JSON_NULL)
        return MS_OK;
    return ms_json_get_count(v, 0, UINT64_MAX, count, err);
}

typedef struct text_member {
    const char *pointer, **text;
} text_member;

typedef struct count_member {
    const char *pointer;
    uint64_t *count;
} count_member;

static ms_status read_members(ms_json_value object, const text_member *texts, size_t text_count,
                              const count_member *counts, size_t count_count, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < text_count && status == MS_OK; i++)
        status = read_text(object, texts[i].pointer, texts[i].text, err);
    for (size_t i = 0; i < count_count && status == MS_OK; i++)
        status = read_count(object, counts[i].pointer, counts[i].count, err);
    return status;
}

#define COUNT_OF(rows) (sizeof(rows) / sizeof(rows)[0])

/* ---- a prediction ---- */

/* Marks the layers of "0-8,12". */
static void mark_layers(const char *text, bool *layers)
{
    while (ms_is_digit(*text)) {
        uint64_t ends[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            for (; ms_is_digit(*text); text++)
                ends[i] = ends[i] < MOST_LAYERS ? ends[i] * 10 + (uint64_t)(*text - '0') : ends[i];
            if (i == 0 && *text != '-')
                ends[1] = ends[0];
            if (*text != '-' || i == 1)
                break;
            text++;
        }
        for (uint64_t layer = ends[0]; layer <= ends[1] && layer < MOST_LAYERS; layer++)
            layers[layer] = true;
        text += *text == ',';
    }
}

/* Operators that run again in backward name their layers. */
static ms_status count_recomputed(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value list, v;
    if (!ms_json_find(root, "operators", &list))
        return MS_OK;
    bool *layers = ms_arena_array(r->arena, bool, MOST_LAYERS);
    if (!layers)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        const char *pass = "", *text = NULL;
        const text_member members[] = {{"/extra/pass", &pass}, {"/extra/layers", &text}};
        status = read_members(v, members, COUNT_OF(members), NULL, 0, err);
        if (status == MS_OK && text && strcmp(pass, "recompute") == 0)
            mark_layers(text, layers);
    }
    r->step.knows_recomputed = status == MS_OK;
    for (size_t i = 0; i < MOST_LAYERS; i++)
        r->step.recomputed_layers += layers[i];
    return status;
}

static ms_status read_static(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_recorded_step *step = &r->step;
    const char *adapter = NULL, *quantize = NULL, *attention = NULL;
    const text_member texts[] = {{"/metadata/dtype", &step->dtype},
                                 {"/metadata/autocast", &step->autocast},
                                 {"/metadata/optimizer", &step->optimizer},
                                 {"/metadata/optimizer_impl", &step->optimizer_impl},
                                 {"/metadata/adapter", &adapter},
                                 {"/metadata/quantize", &quantize},
                                 {"/metadata/attention", &attention}};
    const count_member counts[] = {{"/metadata/batch", &step->batch},
                                   {"/metadata/seq", &step->seq},
                                   {"/metadata/num_layers", &step->layers}};
    ms_status status = read_members(root, texts, COUNT_OF(texts), counts, COUNT_OF(counts), err);
    if (status != MS_OK)
        return status;
    if (attention)
        step->attention[step->attention_count++] = attention;
    if (step->optimizer && strncmp(step->optimizer, "trainer-", 8) == 0)
        step->optimizer += 8;
    step->knows_weights = step->dtype != NULL;
    step->is_quantized = quantize && strcmp(quantize, "none") != 0;
    status = recorded_read_layout(step, root, err);
    if (status != MS_OK)
        return status;
    step->knows_adapter = adapter != NULL;
    if (adapter && strcmp(adapter, "none") != 0)
        step->adapter_parameters = step->trainable;
    return count_recomputed(r, root, err);
}

/* ---- a capture ---- */

typedef struct input {
    const char *name, *dtype;
    uint64_t sizes[2], dimensions;
} input;

static ms_status read_shape(ms_json_value shape, input *found, ms_error *err)
{
    ms_json_value v;
    uint64_t size = 0;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(shape, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        status = ms_json_get_count(v, 0, UINT64_MAX, &size, err);
        if (found->dimensions < COUNT_OF(found->sizes))
            found->sizes[found->dimensions] = size;
        found->dimensions++;
    }
    return status;
}

static ms_status read_input(ms_json_value v, input *found, ms_error *err)
{
    ms_json_value shape;
    *found = (input){.name = "", .dtype = ""};
    const text_member texts[] = {{"/name", &found->name}, {"/dtype", &found->dtype}};
    ms_status status = read_members(v, texts, COUNT_OF(texts), NULL, 0, err);
    if (status == MS_OK)
        status = ms_json_get_list(v, "shape", &shape, err);
    return status == MS_OK ? read_shape(shape, found, err) : status;
}

static bool is_beside_ids(const char *name)
{
    static const char *const names[] = {"labels",   "label",        "attention_mask", "mask",
                                        "targets",  "position_ids", "token_type_ids", "target",
                                        "y",        "positions",    "loss_mask",      "doc_ids",
                                        "input_pos"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return ms_is_digit(*name) && strcmp(name, "0") != 0;
}

/* Ids of tokens, or what stands for them; else any tensor, whose first size is that of the batch.
 */
static int rank_of(const input *i)
{
    bool is_whole = strcmp(i->dtype, "int64") == 0 || strcmp(i->dtype, "int32") == 0;
    if (i->dimensions == 2 && is_whole && strcmp(i->name, "input_ids") == 0)
        return 4;
    if (i->dimensions == 3 && strcmp(i->name, "inputs_embeds") == 0)
        return 3;
    if (i->dimensions == 2 && is_whole && !is_beside_ids(i->name))
        return 2;
    return i->dimensions > 0 && i->sizes[0] > 0 ? 1 : 0;
}

/* The largest of those that are most like ids of tokens. */
static ms_status read_inputs(ms_recorded_step *step, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    int best = 0;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        input i;
        status = read_input(v, &i, err);
        int rank = status == MS_OK ? rank_of(&i) : 0;
        if (rank == 0 || rank < best)
            continue;
        uint64_t batch = i.sizes[0], seq = rank > 1 ? i.sizes[1] : 0;
        double size = (double)batch * (double)(seq ? seq : 1);
        double known = (double)step->batch * (double)(step->seq ? step->seq : 1);
        if (rank == best && batch == step->batch && seq == step->seq)
            continue;
        step->has_other_inputs = rank == best && rank > 1;
        if (rank > best || size > known) {
            step->batch = batch;
            step->seq = seq;
        }
        best = rank;
    }
    return status;
}

static ms_status read_parameters(ms_recorded_step *step, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    uint64_t most = 0;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        const char *dtype = "";
        uint64_t count = 0;
        status = read_text(v, "/dtype", &dtype, err);
        if (status == MS_OK)
            status = read_count(v, "/count", &count, err);
        bool is_packed = strcmp(dtype, "uint8") == 0 || strcmp(dtype, "int8") == 0;
        step->is_quantized = step->is_quantized || is_packed;
        if (count > most) {
            most = count;
            step->dtype = dtype;
        }
    }
    step->knows_weights = most > 0;
    return status;
}

static ms_status read_attention(ms_recorded_step *step, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v);
         more && status == MS_OK && step->attention_count < MS_RECORDED_ATTENTIONS;
         more = ms_json_next(&v))
        status = ms_json_get_string(v, &step->attention[step->attention_count++], err);
    return status;
}

/* One optimizer has a name; of several, the first two. */
static ms_status read_optimizers(ms_recorded *r, ms_json_value list, ms_error *err)
{
    ms_recorded_step *step = &r->step;
    const char *names[2] = {NULL, NULL}, *implementation = NULL;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    ms_json_value v;
    bool more = status == MS_OK && ms_json_first(list, &v);
    for (int i = 0; more && status == MS_OK && i < 2; i++, more = ms_json_next(&v)) {
        status = read_text(v, "/name", &names[i], err);
        if (status == MS_OK)
            status = read_text(v, "/implementation", &implementation, err);
    }
    if (status != MS_OK || !names[0])
        return status;
    bool is_one = !names[1] || strcmp(names[0], names[1]) == 0;
    step->optimizer = is_one ? names[0]
                             : ms_arena_printf(r->arena, "%.60s and %.60s%s", names[0], names[1],
                                               more ? " and others" : "");
    step->optimizer_impl = names[1] ? NULL : implementation;
    return step->optimizer ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
}

static ms_status read_autocast(ms_recorded_step *step, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    step->autocast = step->is_compiled ? NULL : "none";
    return status == MS_OK && ms_json_first(list, &v) ? ms_json_get_string(v, &step->autocast, err)
                                                      : status;
}

static ms_status read_bool(ms_json_value object, const char *key, bool *truth, ms_error *err)
{
    ms_json_value v;
    return ms_json_find(object, key, &v) ? ms_json_get_bool(v, truth, err) : MS_OK;
}

static ms_status read_captured(ms_recorded *r, ms_json_value told, ms_error *err)
{
    ms_recorded_step *step = &r->step;
    ms_json_value list;
    bool is_training = true;
    const count_member counts[] = {{"/layers", &step->layers},
                                   {"/recomputed_layers", &step->recomputed_layers},
                                   {"/adapter_param_count", &step->adapter_parameters},
                                   {"/idle_dropouts", &step->idle_dropouts}};
    ms_status status = read_members(told, NULL, 0, counts, COUNT_OF(counts), err);
    if (status == MS_OK)
        status = read_bool(told, "training", &is_training, err);
    if (status == MS_OK)
        status = read_bool(told, "compiled", &step->is_compiled, err);
    step->knows_recomputed = step->layers > 0 && !step->is_compiled;
    step->knows_adapter = true;
    step->is_evaluating = !is_training && step->idle_dropouts > 0;
    if (status == MS_OK && ms_json_find(told, "inputs", &list))
        status = read_inputs(step, list, err);
    if (status == MS_OK && ms_json_find(told, "parameters", &list))
        status = read_parameters(step, list, err);
    if (status == MS_OK && ms_json_find(told, "attention", &list))
        status = read_attention(step, list, err);
    if (status == MS_OK && ms_json_find(told, "autocast", &list))
        status = read_autocast(step, list, err);
    if (status == MS_OK && ms_json_find(told, "optimizers", &list))
        status = read_optimizers(r, list, err);
    if (status == MS_OK)
        status = recorded_read_sharing(step, told, err);
    return status;
}

/* ---- both ---- */

/* A micro-step may have several backward passes, and a row may stand for several micro-steps. */
static uint64_t count_micro_steps(const ms_recorded *r)
{
    uint64_t count = 0, next = 0;
    for (uint32_t i = 0; i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        if (strcmp(p->name, "backward") != 0 || p->micro_step < next)
            continue;
        count += p->repeats < UINT32_MAX ? p->repeats : UINT32_MAX;
        next = p->micro_step < UINT64_MAX ? p->micro_step + 1 : p->micro_step;
    }
    return count;
}

ms_status ms_recorded_read_step(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value told;
    const count_member counts[] = {{"/summary/param_count", &r->step.parameters},
                                   {"/summary/trainable_param_count", &r->step.trainable},
                                   {"/summary/optimizer_memory_bytes", &r->step.optimizer_bytes}};
    ms_status status = read_members(root, NULL, 0, counts, COUNT_OF(counts), err);
    r->step.micro_steps = count_micro_steps(r);
    if (status != MS_OK)
        return status;
    if (r->is_static)
        return read_static(r, root, err);
    return ms_json_find(root, "step", &told) ? read_captured(r, told, err) : MS_OK;
}
