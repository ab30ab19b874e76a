/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluation between steps, and emptying the cache, in files of training settings.
 */
#include "input/config/trainers/training_evaluation.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/allocator_conf.h"
#include "input/config/trainers/others/training_swift.h"
#include "input/config/trainers/step/training_checkpoints.h"
#include "input/config/trainers/training_reading.h"

static ms_status set_empty_cache(ms_training_reading *r)
{
    ms_training_topic topic = MS_TOPIC_EMPTY_CACHE;
    if (!r->file.given[topic])
        return MS_OK;
    if (ms_training_on_cpu(r))
        return ms_training_leave_out(r, topic, MS_EFFECT_NONE,
                                     "emptying the cache between steps: the cpu has none");
    return ms_training_offer(r, "empty-cache-steps", ms_training_number(r, topic), topic);
}

/* A variable of the environment that the file sets. */
static ms_status set_allocator(ms_training_reading *r)
{
    const ms_training_topic topic = MS_TOPIC_ALLOCATOR;
    ms_error at = {0};
    if (!r->file.given[topic])
        return MS_OK;
    const ms_json_value value = r->file.values[topic];
    ms_json_error_set(&at, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    const ms_allocator_conf conf = {.name = ms_json_key(value),
                                    .value = ms_training_text(r, topic, ""),
                                    .file = ms_json_file_name(value),
                                    .inside = "ENV/",
                                    .line = at.line};
    return ms_allocator_conf_apply(&conf, r->arena, r->draft, r->keys, r->err);
}

/* The topic that turns an evaluation on; MS_TOPIC_COUNT: nothing does. */
static ms_training_topic evaluating_topic(const ms_training_reading *r)
{
    const char *strategy = ms_training_text(r, MS_TOPIC_EVAL_STRATEGY, "");
    bool is_off = strcmp(strategy, "no") == 0;
    if (r->file.format == MS_TRAINING_SWIFT)
        return ms_training_swift_evaluates(r) ? MS_TOPIC_VALIDATION : MS_TOPIC_COUNT;
    if (r->file.format == MS_TRAINING_AXOLOTL) /* a part kept back is not evaluated by itself */
        return ms_training_is_some(r, MS_TOPIC_VALIDATION) && !is_off &&
                       (*strategy || r->file.given[MS_TOPIC_EVAL_STEPS])
                   ? MS_TOPIC_VALIDATION
                   : MS_TOPIC_COUNT;
    if (*strategy && !is_off)
        return MS_TOPIC_EVAL_STRATEGY;
    if (ms_training_flag(r, MS_TOPIC_DO_EVAL, false))
        return MS_TOPIC_DO_EVAL;
    return ms_training_flag(r, MS_TOPIC_EVAL_ON_START, false) ? MS_TOPIC_EVAL_ON_START
                                                              : MS_TOPIC_COUNT;
}

/* The evaluation's batch size when the file does not set it. */
static const char *usual_eval_batch(const ms_training_reading *r)
{
    return r->file.format == MS_TRAINING_AXOLOTL
               ? ms_arena_printf(r->arena, "%" PRIu64, r->draft->run.batch)
           : r->file.format == MS_TRAINING_SWIFT ? "1"
                                                 : "8";
}

/* ---- logits that the device keeps ---- */

static bool names_a_metric(const ms_training_reading *r)
{
    const char *name = ms_training_text(r, MS_TOPIC_BEST_METRIC, "loss");
    size_t length = strlen(name), end = strlen("loss");
    return length < end || strcmp(name + length - end, "loss") != 0;
}

/* The topic that only makes sense with compute_metrics; MS_TOPIC_COUNT: none is there. */
static ms_training_topic metrics_topic(const ms_training_reading *r)
{
    if (names_a_metric(r))
        return MS_TOPIC_BEST_METRIC;
    static const ms_training_topic flags[] = {MS_TOPIC_BATCH_METRICS, MS_TOPIC_METRICS,
                                              MS_TOPIC_ACCURACY};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (ms_training_flag(r, flags[i], false))
            return flags[i];
    bool has_inputs = r->file.given[MS_TOPIC_METRIC_INPUTS] &&
                      ms_json_length(r->file.values[MS_TOPIC_METRIC_INPUTS]) > 0;
    return has_inputs ? MS_TOPIC_METRIC_INPUTS : MS_TOPIC_COUNT;
}

/* Without metrics: Trainer then computes the loss only, unless the script has some. */
static ms_status note_loss_alone(ms_training_reading *r)
{
    const char *batches =
        r->file.given[MS_TOPIC_KEPT_BATCHES] ? ms_training_number(r, MS_TOPIC_KEPT_BATCHES) : "";
    return ms_note_add(r->notes, r->arena, r->err,
                       "the evaluation is assumed to compute only the loss; with compute_metrics "
                       "the device keeps logits too (--eval-logits%s%s)",
                       *batches ? " " : "", batches);
}

/* Batch by batch, or as label numbers alone, one batch's logits are there at once; else those of
 * eval_accumulation_steps batches, or of all, whose number no file says. */
static ms_status set_kept_logits(ms_training_reading *r)
{
    static const char field[] = "eval-logits";
    ms_training_topic from = metrics_topic(r), topic = MS_TOPIC_KEPT_BATCHES;
    if (ms_run_field_is_set(r->draft, field) || ms_training_flag(r, MS_TOPIC_LOSS_ONLY, false) ||
        r->file.format == MS_TRAINING_SWIFT) /* its accuracy is of numbers */
        return MS_OK;
    if (from == MS_TOPIC_COUNT)
        return note_loss_alone(r);
    if (ms_training_flag(r, MS_TOPIC_BATCH_METRICS, false) ||
        ms_training_flag(r, MS_TOPIC_ACCURACY, false))
        return ms_training_offer(r, field, "1", from);
    if (r->file.given[topic])
        return ms_training_offer(r, field, ms_training_number(r, topic), topic);
    ms_status status = ms_training_offer(r, field, "1", from);
    return status == MS_OK
               ? ms_note_add(r->notes, r->arena, r->err,
                             "metrics without eval_accumulation_steps: the device keeps the logits "
                             "of all batches of an evaluation, which is assumed to have one batch "
                             "(--eval-logits)")
               : status;
}

/* ---- an evaluation ---- */

static ms_status set_evaluation(ms_training_reading *r)
{
    static const char field[] = "eval-batch";
    ms_training_topic on = evaluating_topic(r), topic = MS_TOPIC_EVAL_BATCH;
    bool is_given = r->file.given[topic];
    if (on == MS_TOPIC_COUNT || ms_run_field_is_set(r->draft, field))
        return MS_OK;
    bool on_host =
        ms_run_field_is_set(r->draft, "parameter-device") && r->draft->run.parameter_device;
    if (r->model->head != MS_HEAD_CAUSAL_LM || r->model->outputs_router_logits || on_host ||
        !ms_training_knows_passes(r))
        return ms_training_leave_out(r, on, MS_EFFECT_ADDS,
                                     "evaluation between steps and the logits it keeps");
    ms_status status =
        ms_training_offer(r, field, is_given ? ms_training_number(r, topic) : usual_eval_batch(r),
                          is_given ? topic : on);
    if (status == MS_OK && r->file.format == MS_TRAINING_SWIFT && !ms_training_on_cpu(r))
        status = ms_training_offer(r, "empty-cache-steps", ms_training_swift_eval_steps(r), on);
    return status == MS_OK ? set_kept_logits(r) : status;
}

ms_status ms_training_set_between_steps(ms_training_reading *r)
{
    ms_status status = set_allocator(r);
    if (status == MS_OK)
        status = set_empty_cache(r);
    return status == MS_OK ? set_evaluation(r) : status;
}
