/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/zero/training_zero_numbers.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/trainers/zero/training_zero_keys.h"

/* ---- numbers that both say ---- */

/* The configuration's value of a key that the training arguments need not fill in. */
static bool find_own(const ms_training_ranks *t, const char *key, ms_json_value *value)
{
    return ms_json_find(t->config, key, value) && !ms_training_zero_is_auto(*value) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

static ms_status take_number(const ms_training_ranks *t, const char *key, const char *field,
                             const char *other)
{
    ms_json_value value, there;
    if (!find_own(t, key, &value))
        return MS_OK;
    double number = ms_training_value_number(value);
    if (ms_json_find(t->root, other, &there) && ms_json_kind_of(there) == MS_JSON_NUMBER &&
        ms_training_value_number(there) != number)
        return ms_training_refuse(t, value, "%s differs from %s of the training arguments", key,
                                  other);
    if (number <= 0 && strcmp(field, "clip") == 0)
        return ms_training_set_option(t, field, "none");
    return ms_training_set_option(t, field, ms_arena_printf(t->r->arena, "%.17g", number));
}

/* ---- train_batch_size = micro-batch * accumulation * ranks ---- */

typedef struct factor {
    const char *key, *field, *other; /* of the configuration, the run and the training arguments */
    double usual;                    /* of the training arguments, which fill in "auto" */
    bool is_asked;                   /* the run has it from elsewhere, which wins */
    double number;                   /* 0: nothing says it */
} factor;

static void find_factor(const ms_training_ranks *t, factor *f)
{
    ms_json_value value;
    bool is_left = ms_json_find(t->config, f->key, &value) && ms_training_zero_is_auto(value);
    if (f->is_asked)
        f->number = (double)(strcmp(f->field, "batch") == 0 ? t->r->draft->run.batch
                                                            : t->r->draft->run.training.accumulate);
    else if (find_own(t, f->key, &value) ||
             (ms_json_find(t->root, f->other, &value) && !ms_training_zero_is_auto(value)))
        f->number = ms_training_value_number(value);
    else if (is_left)
        f->number = f->usual;
}

static bool is_count(double number)
{
    enum { MOST = 1 << 30 };
    return number >= 1 && number <= MOST && number == (double)(uint64_t)number;
}

/* What is not said is what is left of the whole; both: all of it in one micro-batch. */
static ms_status split_batch(const ms_training_ranks *t, ms_json_value value, factor *micro,
                             factor *steps)
{
    double ranks = (double)ms_layout_world(&t->r->draft->run.parallel.layout);
    double whole = ms_training_value_number(value);
    factor *missing = steps->number > 0 ? micro : steps;
    if (micro->number <= 0 && steps->number <= 0) {
        steps->number = 1;
        missing = micro;
    }
    const factor *said = missing == micro ? steps : micro;
    double part = whole / (ranks * said->number);
    if (!is_count(whole) || !is_count(part))
        return ms_training_refuse(
            t, value, "train_batch_size %.17g is not a multiple of %.17g ranks x %s %.17g", whole,
            ranks, said->key, said->number);
    if (missing->number > 0 && missing->number != part)
        return ms_training_refuse(t, value,
                                  "train_batch_size %.17g is not %.17g sequences x %.17g "
                                  "micro-batches x %.17g ranks, and DeepSpeed refuses it",
                                  whole, micro->number, steps->number, ranks);
    missing->number = part;
    return MS_OK;
}

static ms_status set_factor(const ms_training_ranks *t, const factor *f)
{
    return ms_training_set_option(t, f->field, ms_arena_printf(t->r->arena, "%.17g", f->number));
}

static ms_status take_whole_batch(const ms_training_ranks *t, factor *micro, factor *steps)
{
    ms_json_value value;
    if (!find_own(t, "train_batch_size", &value) || (micro->is_asked && steps->is_asked))
        return MS_OK;
    find_factor(t, micro);
    find_factor(t, steps);
    if (micro->is_asked && steps->number > 0) /* not what the file says of the whole */
        return MS_OK;
    if (steps->is_asked && micro->number > 0)
        return MS_OK;
    ms_status status = split_batch(t, value, micro, steps);
    if (status == MS_OK)
        status = set_factor(t, micro);
    return status == MS_OK ? set_factor(t, steps) : status;
}

ms_status ms_training_zero_take_numbers(const ms_training_ranks *t)
{
    bool is_axolotl = t->r->file.format == MS_TRAINING_AXOLOTL;
    factor micro = {.key = "train_micro_batch_size_per_gpu",
                    .field = "batch",
                    .usual = is_axolotl ? 1 : 8,
                    .other = is_axolotl ? "micro_batch_size" : "per_device_train_batch_size",
                    .is_asked = ms_run_field_is_set(t->r->draft, "batch")};
    factor steps = {.key = "gradient_accumulation_steps",
                    .field = "accumulate",
                    .usual = 1,
                    .other = "gradient_accumulation_steps",
                    .is_asked = ms_run_field_is_set(t->r->draft, "accumulate")};
    ms_status status = take_number(t, micro.key, micro.field, micro.other);
    if (status == MS_OK)
        status = take_number(t, steps.key, steps.field, steps.other);
    if (status == MS_OK)
        status = take_whole_batch(t, &micro, &steps);
    return status == MS_OK ? take_number(t, "gradient_clipping", "clip", "max_grad_norm") : status;
}

/* ---- types ---- */

typedef struct type_row {
    const char *pointer, *key; /* of the configuration, and of the training arguments */
    ms_training_type type;
} type_row;

static const type_row types[] = {{"/bf16/enabled", "bf16", MS_TRAINING_TYPE_BF16},
                                 {"/fp16/enabled", "fp16", MS_TRAINING_TYPE_FP16}};

/* What the training arguments say of a type; false: nothing, or "auto". */
static bool says_type(const ms_training_ranks *t, const type_row *row, bool *truth)
{
    ms_json_value value;
    if (!ms_json_find(t->root, row->key, &value))
        return false;
    *truth = ms_training_truth(value, false);
    return *truth == ms_training_truth(value, true);
}

/* The key of the training arguments that asks for another type than this row's; NULL: none. */
static const char *asks_otherwise(const ms_training_ranks *t, const type_row *row, bool is_on)
{
    bool truth;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (says_type(t, &types[i], &truth) && (&types[i] == row ? truth != is_on : truth && is_on))
            return types[i].key;
    return NULL;
}

static ms_status take_type(const ms_training_ranks *t, const type_row *row)
{
    ms_json_value value;
    if (!ms_json_find_pointer(t->config, row->pointer, &value))
        return MS_OK;
    if (ms_training_zero_is_auto(value)) {
        t->r->takes_auto_type = true;
        return MS_OK;
    }
    bool is_on = ms_training_truth(value, false);
    const char *other = asks_otherwise(t, row, is_on);
    if (other)
        return ms_training_refuse(t, value, "%s differs from %s of the training arguments",
                                  row->pointer + 1, other);
    if (!is_on)
        return MS_OK;
    if (t->r->type != MS_TRAINING_TYPE_NONE)
        return ms_training_refuse(t, value,
                                  "bf16 and fp16 are both enabled, which DeepSpeed "
                                  "refuses");
    t->r->type = row->type;
    return MS_OK;
}

ms_status ms_training_zero_take_types(const ms_training_ranks *t)
{
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types && status == MS_OK; i++)
        status = take_type(t, &types[i]);
    if (status != MS_OK ||
        !ms_json_find_pointer(t->config, "/data_types/grad_accum_dtype", &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return status;
    const char *text = ms_training_value_text(value);
    if (strcmp(text, "fp32") == 0)
        return ms_training_set_option(t, "grad-accumulation-dtype", "fp32");
    return ms_training_refuse(t, value, "grad_accum_dtype '%.20s' is not predicted", text);
}
