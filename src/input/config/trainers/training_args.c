/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts topics to fields of a run. Defaults are those of the trainers: transformers 5.23,
 * axolotl 0.18, LLaMA-Factory 0.9.5, ms-swift 4.6, torchtune 0.6.
 */
#include "input/config/trainers/training_args.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/keys/versions.h"
#include "input/config/trainers/others/training_axolotl.h"
#include "input/config/trainers/others/training_engine.h"
#include "input/config/trainers/others/training_sft.h"
#include "input/config/trainers/others/training_swift.h"
#include "input/config/trainers/others/training_v1.h"
#include "input/config/trainers/sharding/training_config.h"
#include "input/config/trainers/sharding/training_v1_ranks.h"
#include "input/config/trainers/step/training_checkpoints.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/training_attention.h"
#include "input/config/trainers/training_evaluation.h"
#include "input/config/trainers/training_loss.h"
#include "input/config/trainers/training_optimizer.h"
#include "input/config/trainers/training_precision.h"
#include "input/config/trainers/training_reading.h"
#include "input/config/trainers/training_recipes.h"
#include "input/config/trainers/sharding/training_mesh.h"
#include "input/config/trainers/fsdp/training_fsdp.h"
#include "input/config/trainers/training_sharding.h"

/* ---- numbers ---- */

static const struct {
    ms_training_topic topic;
    const char *field;
    const char *absent[MS_TRAINING_FORMAT_COUNT]; /* NULL: the field's own */
} numbers[] = {
    {MS_TOPIC_BATCH, "batch", {"8", "1", "8", NULL, "8", "1", "1"}},
    {MS_TOPIC_ACCUMULATE, "accumulate", {"1", "1", "1", "1", "1", NULL, NULL}},
    {MS_TOPIC_SEQ, "seq", {NULL, "512", "2048", NULL, "2048", NULL, "2048"}},
    {MS_TOPIC_WEIGHT_DECAY, "weight-decay", {"0.0", "0.0", "0.0", NULL, "0.1", "0.1", "0.01"}},
};

static ms_status note_length(ms_training_reading *r, const char *absent)
{
    if (ms_run_field_is_set(r->draft, "seq"))
        return MS_OK;
    return ms_note_add(r->notes, r->arena, r->err,
                       "the training arguments give no max_length, so TRL truncates sequences to "
                       "%s tokens (--seq)",
                       absent);
}

/* torchtune cuts nothing where it is null, as its recipes have it. */
static ms_status note_data_length(ms_training_reading *r)
{
    if (ms_run_field_is_set(r->draft, "seq"))
        return MS_OK;
    return ms_note_add(r->notes, r->arena, r->err,
                       "tokenizer.max_seq_len is not given, so sequences are as long as in the "
                       "data; 2048 tokens are assumed (--seq)");
}

static ms_status set_numbers(ms_training_reading *r)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == MS_OK; i++) {
        const char *absent = numbers[i].topic == MS_TOPIC_SEQ && r->is_cut
                                 ? "1024"
                                 : numbers[i].absent[r->file.format];
        bool given = r->file.given[numbers[i].topic];
        const char *text = given ? ms_training_number(r, numbers[i].topic) : absent;
        if (numbers[i].topic == MS_TOPIC_BATCH && !given)
            status = ms_training_note_batch(r, absent);
        if (numbers[i].topic == MS_TOPIC_SEQ && !given && r->is_cut)
            status = note_length(r, absent);
        if (numbers[i].topic == MS_TOPIC_SEQ && !given && r->file.format == MS_TRAINING_TORCHTUNE)
            status = note_data_length(r);
        if (status == MS_OK && (given || absent))
            status = ms_training_offer(r, numbers[i].field, text, numbers[i].topic);
    }
    return status;
}

/* Trainers take 0 for no clipping. */
static ms_status set_clip(ms_training_reading *r)
{
    double norm = 1;
    if (!r->file.given[MS_TOPIC_CLIP])
        return r->file.format == MS_TRAINING_TORCHTUNE
                   ? MS_OK
                   : ms_training_offer(r, "clip", "1.0", MS_TOPIC_CLIP);
    bool none = ms_json_get_number(r->file.values[MS_TOPIC_CLIP], 0, 0, &norm, NULL) == MS_OK;
    return ms_training_offer(r, "clip", none ? "none" : ms_training_number(r, MS_TOPIC_CLIP),
                             MS_TOPIC_CLIP);
}

/* ---- several GPUs ---- */

/* Where the file says it. */
static const char *place_of(ms_training_reading *r, const ms_sharding *s)
{
    const char *line = ms_training_line(r->arena, s->value);
    return line ? ms_arena_printf(r->arena, "%s (%s)", ms_json_key(s->value), line) : NULL;
}

static ms_status note_several(ms_training_reading *r, const ms_sharding *s)
{
    ms_several_gpus *several = &r->draft->run.several_gpus;
    const char *place = place_of(r, s);
    several->is_ignored = s->kind == MS_SHARDING_SPLITS;
    several->has_buckets = s->has_buckets;
    if (place && several->is_ignored)
        several->text = ms_arena_printf(r->arena,
                                        "%s shards over GPUs, which is ignored: the figures are "
                                        "for one device that holds everything",
                                        place);
    else if (place)
        several->text = ms_arena_printf(
            r->arena, "%s: each GPU holds everything; what %s keeps in addition is not included%s",
            place, s->library, s->has_buckets ? " (--parallel dp=N predicts it)" : "");
    if (!several->text)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a note");
    if (several->is_ignored)
        return MS_OK;
    const char *kept = ms_arena_printf(r->arena, "what %s keeps beside the training", s->library);
    return ms_training_add_key(r, s->value, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_ADDS, kept);
}

/* ---- a layout that is given, or that the file gives ---- */

static bool has_layout(const ms_training_reading *r)
{
    return ms_run_field_is_set(r->draft, "parallel") &&
           r->draft->run.parallel.layout.kind != MS_PARALLEL_NONE;
}

/* Accelerate's file with a number of processes and nothing but DistributedDataParallel. Trainer and
 * accelerate reduce the gradients of the last micro-step alone. */
static ms_status take_copies(ms_training_reading *r, const ms_sharding *s)
{
    const char *layout = ms_arena_printf(r->arena, "dp=%" PRIu64, s->processes);
    ms_status status = ms_training_set_by(r, s->value, "parallel", layout);
    if (status == MS_OK && !ms_run_field_is_set(r->draft, "no-sync"))
        status = ms_training_set_by(r, s->value, "no-sync", "yes");
    return status;
}

static ms_status note_layout(ms_training_reading *r, const ms_sharding *s)
{
    const char *layout = ms_layout_text(r->arena, &r->draft->run.parallel.layout);
    const char *place = place_of(r, s);
    return ms_note_add(r->notes, r->arena, r->err, "%s is predicted as --parallel %s",
                       place ? place : "", layout ? layout : "");
}

/* ---- how the file shards ---- */

/* Before anything else of the file, so that this is what its user reads first. */
static ms_status heed_sharding(ms_training_reading *r)
{
    const ms_json_value root = r->root;
    const ms_training_format format = r->file.format;
    ms_sharding s;
    bool is_zero = false, is_read = false;
    ms_status status = ms_training_sharding(r->arena, root, format, &s, r->err);
    if (format == MS_TRAINING_TORCHTUNE && s.kind == MS_SHARDING_NONE)
        ms_training_share_recipe(r, root, &s);
    if (format == MS_TRAINING_V1 && status == MS_OK)
        status = ms_training_share_v1(r, root, &s);
    if (status != MS_OK || s.kind == MS_SHARDING_NONE)
        return status;
    r->shards = s.value;
    ms_training_ranks t = {.r = r, .sharding = &s, .root = root};
    if (format == MS_TRAINING_TITAN && (status = ms_training_read_titan_step(&t)) != MS_OK)
        return status;
    bool is_asked = ms_run_field_is_set(r->draft, "parallel");
    bool is_one = is_asked && !has_layout(r); /* --parallel none */
    bool shards = s.kind == MS_SHARDING_SPLITS && !r->draft->ignore_sharding && !is_one;
    if (shards && ms_training_knows_sharding(&s, format, &is_zero)) {
        status = ms_training_read_ranks(r, &s, root, is_zero, &is_read);
        if (status != MS_OK || is_read)
            return status;
    }
    if (has_layout(r))
        return note_layout(r, &s);
    if (s.kind == MS_SHARDING_SPLITS && !r->draft->ignore_sharding)
        return ms_training_share_otherwise(&t);
    if (s.widens && !is_one && !r->draft->ignore_sharding)
        return ms_training_refuse_whole(&t);
    bool has_world = ms_run_field_is_set(r->draft, "world");
    if (has_world && s.processes && s.processes != r->draft->world)
        return ms_json_fail(r->err, s.value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "found %" PRIu64 " processes, but world is %" PRIu64, s.processes,
                            r->draft->world);
    if (has_world)
        s.processes = r->draft->world;
    bool is_counted = s.processes > 1 || (s.wraps_one && s.processes == 1);
    if (s.has_buckets && is_counted && !is_asked && !r->draft->ignore_sharding)
        return take_copies(r, &s);
    return note_several(r, &s);
}

/* ---- all of it ---- */

/* These have models of their own. */
static ms_status note_own_model(ms_training_reading *r)
{
    const ms_training_format format = r->file.format;
    if (format != MS_TRAINING_TORCHTUNE && format != MS_TRAINING_TITAN)
        return MS_OK;
    return ms_note_add(r->unsupported, r->arena, r->err,
                       "%s's own model code; the figures are for that of transformers",
                       ms_training_format_name(format));
}

/* Repositories of some families have model code of their own, which takes the place of
 * transformers' where it is trusted. */
static ms_status note_remote_code(ms_training_reading *r)
{
    ms_json_value value;
    const char *key = r->file.format == MS_TRAINING_SWIFT ? "model" : "trust_remote_code";
    if (!ms_json_find(r->root, key, &value) || ms_training_says_nothing(value))
        return MS_OK; /* ms-swift always trusts it */
    if (!ms_family_facts_of(r->model->family)->has_code_of_its_own)
        return MS_OK;
    return ms_training_add_key(r, value, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                               "the repository's own model code");
}

static ms_status find_sft(ms_training_reading *r)
{
    ms_status status = ms_training_find_sft(r, r->root);
    r->draft->is_mapped = r->file.format == MS_TRAINING_SWIFT;
    r->draft->is_loaded = r->is_sft || r->draft->is_mapped;
    return status;
}

static ms_status read_topics(ms_training_reading *r)
{
    return ms_training_file_read(r->root, r->file.format, &r->file, r->err);
}

static ms_status set_of_others(ms_training_reading *r)
{
    ms_status status = ms_training_set_of_trainer(r, r->root);
    if (status == MS_OK)
        status = ms_training_set_engine(r, r->root);
    return status == MS_OK ? ms_training_set_axolotl(r, r->root) : status;
}

static ms_status walk_keys(ms_training_reading *r)
{
    return ms_training_walk_keys(r, r->file.format, r->root, "");
}

/* Those that the layout of ranks does not depend on. */
static bool is_apart(ms_status (*step)(ms_training_reading *r))
{
    return step == set_numbers || step == set_clip || step == ms_training_set_optimizer ||
           step == ms_training_set_attention || step == ms_training_set_loss ||
           step == ms_training_set_between_steps || step == walk_keys;
}

/* What is refused does not keep the rest from being read, so that all of it is told at once. */
ms_status ms_training_args_read(ms_arena *arena, ms_json_value root, const ms_model_config *model,
                                ms_run_draft *draft, ms_run_origins *origins, ms_told told,
                                ms_error *err)
{
    static ms_status (*const steps[])(ms_training_reading * r) = {
        ms_training_check_versions,
        find_sft,
        heed_sharding,
        read_topics,
        ms_training_set_swift_numbers,
        set_numbers,
        set_clip,
        ms_training_set_optimizer,
        ms_training_set_precision,
        ms_training_set_attention,
        ms_training_set_adapter,
        ms_training_set_checkpoints,
        ms_training_set_loss,
        ms_training_set_tune,
        ms_training_set_between_steps,
        ms_training_leave_out_ring,
        ms_training_note_swift,
        ms_training_set_v1,
        note_own_model,
        note_remote_code,
        set_of_others,
        walk_keys,
        ms_training_tell_versions,
    };
    ms_error one = {0};
    ms_key_rows tables[MS_TRAINING_FORMAT_COUNT] = {{0}};
    ms_training_reading r = {.arena = arena,
                             .root = root,
                             .model = model,
                             .draft = draft,
                             .origins = origins,
                             .notes = told.notes,
                             .unsupported = told.unsupported,
                             .keys = told.keys,
                             .lacks_model = told.lacks_model,
                             .tables = tables,
                             .err = &one};
    ms_training_format format = MS_TRAINING_HF;
    ms_status status = ms_training_format_find(root, &format, err);
    if (status != MS_OK)
        return status;
    r.file.format = format;
    draft->is_moved = ms_training_moves_model(format, root);
    ms_status first = MS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        one = (ms_error){0};
        status = steps[i](&r);
        ms_error_add(err, &one);
        first = first == MS_OK ? status : first;
        draft->has_doubtful_layout |= status != MS_OK && !is_apart(steps[i]);
        if (status != MS_OK && !ms_status_is_of_input(status))
            return status;
    }
    return first;
}
