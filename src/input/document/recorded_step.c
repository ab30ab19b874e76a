/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_step.h"

#include <string.h>

#include "base/error.h"
#include "base/json/members.h"
#include "base/json/number.h"
#include "input/document/recorded.h"

#define COUNT_OF(rows) (sizeof(rows) / sizeof(rows)[0])
#define IF_KNOWN .rules = MS_IF_ANY | MS_OR_NULL
#define STEP(...) MS_MEMBER(ms_recorded_step, __VA_ARGS__)

/* ---- layouts ---- */

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

/* What follows from the layout of a prediction. */
static void read_layout(ms_recorded_step *step)
{
    step->data_parallel = "none";
    if (!step->layout) {
        step->knows_resharding = false;
        return;
    }
    step->has_stages = has_item(step->layout, "pp=");
    step->splits_work =
        step->has_stages || has_item(step->layout, "tp=") || has_item(step->layout, "cp=");
    for (size_t i = COUNT_OF(strategies); i-- > 0;)
        if (has_item(step->layout, strategies[i].key))
            step->data_parallel = strategies[i].name;
}

/* ---- a prediction ---- */

enum { MOST_LAYERS = 1 << 16 };

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

typedef struct record {
    const char *pass, *layers;
} record;
typedef struct operators {
    record *items;
    uint32_t count;
} operators;
static const ms_member extra_members[] = {
    MS_MEMBER(record, "pass", pass, IF_KNOWN),
    MS_MEMBER(record, "layers", layers, IF_KNOWN),
};
static const ms_members extra_table = MS_MEMBERS(record, extra_members);
static const ms_member record_members[] = {MS_PART("extra", &extra_table, .rules = MS_IF_ANY)};
static const ms_members record_table = MS_MEMBERS(record, record_members);
static const ms_member operators_members[] = {
    MS_ROWS(operators, "operators", items, count, &record_table, .rules = MS_IF_ANY)};
static const ms_members operators_table = MS_MEMBERS(operators, operators_members);

/* Operators that run again in backward name their layers. */
static ms_status count_recomputed(const ms_members_reading *reading, ms_recorded *r,
                                  ms_json_value root)
{
    operators all = {0};
    ms_json_value list;
    ms_status status = ms_members_read(reading, &operators_table, root, &all);
    if (status != MS_OK || !ms_json_find(root, "operators", &list))
        return status;
    bool *layers = ms_arena_array(r->arena, bool, MOST_LAYERS);
    if (!layers)
        return ms_fail(reading->err, MS_ERR_NOMEM, "out of memory for a report");
    for (uint32_t i = 0; i < all.count; i++) {
        const record *o = &all.items[i];
        if (o->layers && o->pass && strcmp(o->pass, "recompute") == 0)
            mark_layers(o->layers, layers);
    }
    r->step.knows_recomputed = true;
    for (size_t i = 0; i < MOST_LAYERS; i++)
        r->step.recomputed_layers += layers[i];
    return MS_OK;
}

static const ms_member predicted_members[] = {
    STEP("dtype", dtype, IF_KNOWN),
    STEP("autocast", autocast, IF_KNOWN),
    STEP("optimizer", optimizer, IF_KNOWN),
    STEP("optimizer_impl", optimizer_impl, IF_KNOWN),
    STEP("batch", batch, IF_KNOWN),
    STEP("seq", seq, IF_KNOWN),
    STEP("num_layers", layers, IF_KNOWN),
    STEP("parallel", layout, IF_KNOWN),
    STEP("reshard_after_forward", reshards, .rules = MS_IF_ANY,
         .when = MS_PLACE(ms_recorded_step, knows_resharding)),
    STEP("adapter", adapter, IF_KNOWN),
    STEP("quantize", quantize, IF_KNOWN),
    STEP("attention", attention[0], IF_KNOWN),
};
const ms_members ms_predicted_step_table = MS_MEMBERS(ms_recorded_step, predicted_members);

static bool is_some(const char *text)
{
    return text && strcmp(text, "none") != 0;
}

static ms_status read_static(const ms_members_reading *reading, ms_recorded *r, ms_json_value root)
{
    ms_recorded_step *step = &r->step;
    ms_json_value metadata;
    ms_status status = ms_json_get_member(root, "metadata", &metadata, reading->err);
    if (status == MS_OK)
        status = ms_members_read(reading, &ms_predicted_step_table, metadata, step);
    if (status != MS_OK)
        return status;
    step->attention_count = step->attention[0] != NULL;
    if (step->optimizer && strncmp(step->optimizer, "trainer-", 8) == 0)
        step->optimizer += 8;
    step->knows_weights = step->dtype != NULL;
    step->is_quantized = is_some(step->quantize);
    step->knows_adapter = step->adapter != NULL;
    if (is_some(step->adapter))
        step->adapter_parameters = step->trainable;
    read_layout(step);
    return count_recomputed(reading, r, root);
}

/* ---- a capture ---- */

typedef struct dimension {
    uint64_t size;
} dimension;
static const ms_member dimension_members[] = {MS_MEMBER(dimension, "", size)};
static const ms_members dimension_table =
    MS_MEMBERS(dimension, dimension_members, .is_plain = true);

typedef struct input {
    const char *name, *dtype;
    dimension *sizes;
    uint32_t dimensions;
} input;
static const ms_member input_members[] = {
    MS_MEMBER(input, "name", name, IF_KNOWN),
    MS_MEMBER(input, "dtype", dtype, IF_KNOWN),
    MS_ROWS(input, "shape", sizes, dimensions, &dimension_table),
};
static const ms_members input_table = MS_MEMBERS(input, input_members);

typedef struct parameter {
    const char *dtype;
    uint64_t count;
} parameter;
static const ms_member parameter_members[] = {
    MS_MEMBER(parameter, "dtype", dtype, IF_KNOWN),
    MS_MEMBER(parameter, "count", count, IF_KNOWN),
};
static const ms_members parameter_table = MS_MEMBERS(parameter, parameter_members);

typedef struct optimizer {
    const char *name, *implementation;
} optimizer;
static const ms_member optimizer_members[] = {
    MS_MEMBER(optimizer, "name", name, IF_KNOWN),
    MS_MEMBER(optimizer, "implementation", implementation, IF_KNOWN),
};
static const ms_members optimizer_table = MS_MEMBERS(optimizer, optimizer_members);

typedef struct captured {
    input *inputs;
    parameter *parameters;
    optimizer *optimizers;
    const char **attention, **autocast;
    uint32_t input_count, parameter_count, optimizer_count, attention_count, autocast_count;
    bool is_training;
} captured;
#define LIST(...) MS_ROWS(captured, __VA_ARGS__, .rules = MS_IF_ANY)
static const ms_member list_members[] = {
    MS_MEMBER(captured, "training", is_training, .rules = MS_IF_ANY),
    LIST("inputs", inputs, input_count, &input_table),
    LIST("parameters", parameters, parameter_count, &parameter_table),
    LIST("attention", attention, attention_count, &ms_plain_texts),
    LIST("autocast", autocast, autocast_count, &ms_plain_texts),
    LIST("optimizers", optimizers, optimizer_count, &optimizer_table),
};
const ms_members ms_captured_lists_table = MS_MEMBERS(captured, list_members);

static const ms_member told_members[] = {
    STEP("layers", layers, IF_KNOWN),
    STEP("recomputed_layers", recomputed_layers, IF_KNOWN),
    STEP("adapter_param_count", adapter_parameters, IF_KNOWN),
    STEP("idle_dropouts", idle_dropouts, IF_KNOWN),
    STEP("compiled", is_compiled, .rules = MS_IF_ANY),
    STEP("data_parallel", data_parallel, IF_KNOWN),
    STEP("reshard_after_forward", reshards, IF_KNOWN,
         .when = MS_PLACE(ms_recorded_step, knows_resharding)),
};
const ms_members ms_captured_step_table = MS_MEMBERS(ms_recorded_step, told_members);

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
    const char *name = i->name ? i->name : "", *dtype = i->dtype ? i->dtype : "";
    bool is_whole = strcmp(dtype, "int64") == 0 || strcmp(dtype, "int32") == 0;
    if (i->dimensions == 2 && is_whole && strcmp(name, "input_ids") == 0)
        return 4;
    if (i->dimensions == 3 && strcmp(name, "inputs_embeds") == 0)
        return 3;
    if (i->dimensions == 2 && is_whole && !is_beside_ids(name))
        return 2;
    return i->dimensions > 0 && i->sizes[0].size > 0 ? 1 : 0;
}

/* The largest of those that are most like ids of tokens. */
static void read_inputs(ms_recorded_step *step, const captured *c)
{
    int best = 0;
    for (uint32_t k = 0; k < c->input_count; k++) {
        const input *i = &c->inputs[k];
        int rank = rank_of(i);
        if (rank == 0 || rank < best)
            continue;
        uint64_t batch = i->sizes[0].size, seq = rank > 1 ? i->sizes[1].size : 0;
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
}

static void read_parameters(ms_recorded_step *step, const captured *c)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->parameter_count; i++) {
        const parameter *p = &c->parameters[i];
        const char *dtype = p->dtype ? p->dtype : "";
        bool is_packed = strcmp(dtype, "uint8") == 0 || strcmp(dtype, "int8") == 0;
        step->is_quantized = step->is_quantized || is_packed;
        if (p->count > most) {
            most = p->count;
            step->dtype = dtype;
        }
    }
    step->knows_weights = most > 0;
}

/* One optimizer has a name; of several, the first two. */
static bool read_optimizers(ms_recorded *r, const captured *c)
{
    ms_recorded_step *step = &r->step;
    const optimizer *all = c->optimizers, none = {0};
    const optimizer *second = c->optimizer_count > 1 ? &all[1] : &none;
    if (c->optimizer_count == 0 || !all[0].name)
        return true;
    bool is_one = !second->name || strcmp(all[0].name, second->name) == 0;
    step->optimizer =
        is_one ? all[0].name
               : ms_arena_printf(r->arena, "%.60s and %.60s%s", all[0].name, second->name,
                                 c->optimizer_count > 2 ? " and others" : "");
    if (!second->name)
        step->optimizer_impl =
            second->implementation ? second->implementation : all[0].implementation;
    return step->optimizer != NULL;
}

static ms_status read_captured(const ms_members_reading *reading, ms_recorded *r,
                               ms_json_value told)
{
    ms_recorded_step *step = &r->step;
    ms_json_value v;
    captured c = {.is_training = true};
    ms_status status = ms_members_read(reading, &ms_captured_step_table, told, step);
    if (status == MS_OK)
        status = ms_members_read(reading, &ms_captured_lists_table, told, &c);
    if (status != MS_OK)
        return status;
    step->knows_recomputed = step->layers > 0 && !step->is_compiled;
    step->knows_adapter = true;
    step->is_evaluating = !c.is_training && step->idle_dropouts > 0;
    read_inputs(step, &c);
    if (ms_json_find(told, "parameters", &v))
        read_parameters(step, &c);
    while (step->attention_count < c.attention_count &&
           step->attention_count < MS_RECORDED_ATTENTIONS) {
        step->attention[step->attention_count] = c.attention[step->attention_count];
        step->attention_count++;
    }
    if (ms_json_find(told, "autocast", &v))
        step->autocast = c.autocast_count ? c.autocast[0] : step->is_compiled ? NULL : "none";
    if (!ms_json_find(told, "data_parallel", &v))
        step->knows_resharding = false;
    else if (!step->data_parallel)
        step->data_parallel = "none";
    return read_optimizers(r, &c)
               ? MS_OK
               : ms_fail(reading->err, MS_ERR_NOMEM, "out of memory for a report");
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

static const ms_member summary_members[] = {
    STEP("param_count", parameters, IF_KNOWN),
    STEP("trainable_param_count", trainable, IF_KNOWN),
    STEP("optimizer_memory_bytes", optimizer_bytes, IF_KNOWN),
};
const ms_members ms_step_summary_table = MS_MEMBERS(ms_recorded_step, summary_members);

ms_status ms_recorded_read_step(ms_recorded *r, ms_json_value root, ms_error *err)
{
    const ms_members_reading reading = {.what = "a report", .arena = r->arena, .err = err};
    ms_json_value v;
    ms_status status = MS_OK;
    if (ms_json_find(root, "summary", &v))
        status = ms_members_read(&reading, &ms_step_summary_table, v, &r->step);
    r->step.micro_steps = count_micro_steps(r);
    if (status != MS_OK)
        return status;
    if (r->is_static)
        return read_static(&reading, r, root);
    return ms_json_find(root, "step", &v) ? read_captured(&reading, r, v) : MS_OK;
}
