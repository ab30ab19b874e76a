/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/step/training_checkpoints.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/resolve/parallel/refusals.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/keys/versions.h"

static bool checkpoints(const ms_training_reading *r)
{
    if (r->file.format == MS_TRAINING_FACTORY)
        return !ms_training_flag(r, MS_TOPIC_NO_CHECKPOINTING, false);
    bool is_text = *ms_training_text(r, MS_TOPIC_CHECKPOINTING, "");
    bool absent =
        r->is_sft || r->file.format == MS_TRAINING_SWIFT || r->file.format == MS_TRAINING_V1;
    return is_text || ms_training_flag(r, MS_TOPIC_CHECKPOINTING, absent);
}

/* PyTorch's checkpoints are reentrant unless they are told otherwise. transformers tells them when
 * it has no arguments to hand on, and takes two of its own out of them; axolotl makes some. */
static bool is_reentrant(const ms_training_reading *r)
{
    static const char *const own[] = {"every_n_layers", "offload"};
    const ms_training_file *file = &r->file;
    /* ms-swift says so itself: they are not under DistributedDataParallel */
    if (file->format == MS_TRAINING_SWIFT)
        return ms_training_flag(r, MS_TOPIC_REENTRANT,
                                r->draft->run.parallel.layout.kind != MS_PARALLEL_DDP);
    bool absent = file->format == MS_TRAINING_FACTORY || file->format == MS_TRAINING_AXOLOTL ||
                  ms_training_is_before(r, MS_FRAMEWORK_TRANSFORMERS, 5, 0);
    if (file->given[MS_TOPIC_CHECKPOINT_KWARGS]) {
        ms_json_value kwargs = file->values[MS_TOPIC_CHECKPOINT_KWARGS], v;
        uint32_t handed_on = ms_json_length(kwargs);
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
            handed_on -= ms_json_find(kwargs, own[i], &v);
        absent = handed_on > 0;
    }
    return ms_training_flag(r, MS_TOPIC_REENTRANT, absent);
}

static ms_status note_offload(ms_training_reading *r, const char *word)
{
    static const char *const known[] = {"offload", "offload_disk", "unsloth"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], word) == 0)
            return ms_training_leave_out_host(r, MS_TOPIC_CHECKPOINTING,
                                              "activation offloading to the host");
    return ms_training_fail(r, MS_TOPIC_CHECKPOINTING,
                            "'%.40s': expected true, false, offload or offload_disk", word);
}

/* transformers' `offload` of every layer's checkpoint. */
static ms_status send_inputs(ms_training_reading *r)
{
    if (!ms_training_flag(r, MS_TOPIC_INPUT_ON_HOST, false))
        return MS_OK;
    if (r->file.given[MS_TOPIC_EVERY_LAYERS])
        return ms_training_leave_out_host(r, MS_TOPIC_INPUT_ON_HOST,
                                          "inputs of every n-th layer on the host");
    return ms_training_offer_inputs_on_host(r, MS_TOPIC_INPUT_ON_HOST);
}

bool ms_training_knows_passes(const ms_training_reading *r)
{
    const bool has_adapter = ms_training_has_adapter(r) || ms_run_has_lora(r->draft) ||
                             ms_run_field_is_set(r->draft, "adapter");
    return ms_knows_passes(r->model, &r->draft->run, has_adapter);
}

/* Where ranks are not predicted with reentrant checkpoints, the other kind stands for them. */
static ms_status set_kind(ms_training_reading *r, ms_training_topic topic)
{
    if (ms_training_knows_passes(r) || !is_reentrant(r) ||
        ms_run_field_is_set(r->draft, "checkpoint-kind"))
        return ms_training_offer(r, "checkpoint-kind",
                                 is_reentrant(r) ? "reentrant" : "non-reentrant",
                                 MS_TOPIC_REENTRANT);
    ms_status status =
        ms_run_field_set(r->draft, r->arena, "checkpoint-kind", "non-reentrant", r->err);
    if (status != MS_OK)
        return status;
    return ms_training_note_key(
        r, topic, "use_reentrant", MS_EFFECT_EITHER,
        "reentrant checkpoints on these ranks; the figures are for non-reentrant ones");
}

ms_status ms_training_set_checkpoints(ms_training_reading *r)
{
    ms_training_topic topic =
        r->file.format == MS_TRAINING_FACTORY ? MS_TOPIC_NO_CHECKPOINTING : MS_TOPIC_CHECKPOINTING;
    bool on = checkpoints(r);
    const char *word = ms_training_text(r, MS_TOPIC_CHECKPOINTING, ""), *layers = "all";
    ms_status status = *word ? note_offload(r, word) : MS_OK;
    if (status != MS_OK || ms_run_field_is_set(r->draft, "plan"))
        return status;
    if (on && r->file.given[MS_TOPIC_EVERY_LAYERS]) {
        const char *every = ms_training_number(r, MS_TOPIC_EVERY_LAYERS);
        layers = every ? ms_arena_printf(r->arena, "every:%s", every) : NULL;
        topic = MS_TOPIC_EVERY_LAYERS;
    }
    if (!on && r->model->asks_checkpoints) /* the model has them when the trainer gets it */
        return MS_OK;
    status = ms_training_offer(r, "checkpointing", on ? layers : "none", topic);
    if (status == MS_OK && on)
        status = send_inputs(r);
    if (status != MS_OK || !on)
        return status;
    return set_kind(r, topic);
}
