/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/training_reading.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/key_walk.h"
#include "base/text/nearest.h"

bool ms_training_flag(const ms_training_reading *r, ms_training_topic topic, bool absent)
{
    bool truth = absent;
    if (r->file.given[topic])
        (void)ms_json_get_bool(r->file.values[topic], &truth, NULL);
    return truth;
}

const char *ms_training_text(const ms_training_reading *r, ms_training_topic topic,
                             const char *absent)
{
    const char *text = absent;
    if (r->file.given[topic])
        (void)ms_json_get_string(r->file.values[topic], &text, NULL);
    return text;
}

const char *ms_training_number(const ms_training_reading *r, ms_training_topic topic)
{
    char number[MS_JSON_MAX_NUMBER_BYTES + 1];
    size_t bytes;
    const char *text = ms_json_source_text(r->file.values[topic], &bytes);
    if (ms_json_kind_of(r->file.values[topic]) == MS_JSON_NUMBER) {
        bytes = ms_json_number_text(r->file.values[topic], number);
        text = number;
    }
    return ms_arena_printf(r->arena, "%.*s", (int)bytes, text);
}

static ms_status no_memory(const ms_training_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the training arguments");
}

ms_status ms_training_set_by(ms_training_reading *r, ms_json_value value, const char *field,
                             const char *text)
{
    ms_error *place = ms_arena_array(r->arena, ms_error, 1);
    if (!text || !place)
        return no_memory(r);
    ms_json_error_set(place, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    r->origins->places[ms_run_field_find(field)] = place;
    return ms_run_field_set(r->draft, r->arena, field, text, r->err);
}

ms_status ms_training_offer(ms_training_reading *r, const char *field, const char *text,
                            ms_training_topic topic)
{
    int index = ms_run_field_find(field);
    ms_error reason = {0};
    if (ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (!text)
        return no_memory(r);
    ms_status status = ms_run_field_set(r->draft, r->arena, field, text, &reason);
    if (status == MS_ERR_NOMEM)
        return no_memory(r);
    if (status != MS_OK && r->file.given[topic])
        return ms_training_fail(r, topic, "%s", reason.text + strlen(field) + strlen(": "));
    if (status != MS_OK)
        return ms_fail(r->err, status, "%s", reason.text);
    if (r->file.given[topic]) {
        r->origins->in_file[index] = true;
        r->origins->values[index] = r->file.values[topic];
    }
    return MS_OK;
}

bool ms_training_on_cpu(const ms_training_reading *r)
{
    return ms_run_field_is_set(r->draft, "device") && ms_name_equal(r->draft->device, "cpu");
}

ms_status ms_training_leave_out(ms_training_reading *r, ms_training_topic topic,
                                ms_key_effect effect, const char *meaning)
{
    return ms_training_add_key(r, r->file.values[topic], NULL,
                               effect == MS_EFFECT_NONE ? MS_KEY_HARMLESS : MS_KEY_NOT_PREDICTED,
                               effect, meaning);
}

static const char *inputs_on_host(const ms_training_reading *r)
{
    return ms_arena_printf(r->arena, "0-%" PRIu64 "=checkpoint+save_on_cpu",
                           r->model->num_layers - 1);
}

ms_status ms_training_leave_out_host(ms_training_reading *r, ms_training_topic topic,
                                     const char *meaning)
{
    enum { TWO_SETTINGS = 5 };
    const char *treat = inputs_on_host(r);
    const char **other = ms_arena_array(r->arena, const char *, TWO_SETTINGS);
    if (!treat || !other)
        return no_memory(r);
    memcpy(
        other,
        (const char *const[TWO_SETTINGS]){"checkpoint-kind", "non-reentrant", "treat", treat, NULL},
        TWO_SETTINGS * sizeof *other);
    return ms_training_add_read_key(r, r->file.values[topic], NULL,
                                    (ms_read_key){.meaning = meaning,
                                                  .reading = MS_KEY_NOT_PREDICTED,
                                                  .effect = MS_EFFECT_SAVES,
                                                  .other_end = other});
}

ms_status ms_training_note_key(ms_training_reading *r, ms_training_topic topic, const char *key,
                               ms_key_effect effect, const char *meaning)
{
    const bool is_given = topic != MS_TOPIC_COUNT && r->file.given[topic];
    return ms_training_add_read_key(r, is_given ? r->file.values[topic] : r->root, key,
                                    (ms_read_key){.value = is_given ? NULL : "by default",
                                                  .meaning = meaning,
                                                  .reading = MS_KEY_NOT_PREDICTED,
                                                  .effect = effect});
}

ms_status ms_training_leave_out_bounded(ms_training_reading *r, ms_training_topic topic,
                                        const char *meaning,
                                        uint64_t (*bound)(const ms_model_config *model,
                                                          const struct ms_run_config *run))
{
    return ms_training_add_read_key(r, r->file.values[topic], NULL,
                                    (ms_read_key){.meaning = meaning,
                                                  .reading = MS_KEY_NOT_PREDICTED,
                                                  .effect = MS_EFFECT_ADDS,
                                                  .bound = bound});
}

bool ms_training_is_some(const ms_training_reading *r, ms_training_topic topic)
{
    double x;
    return r->file.given[topic] &&
           ms_json_get_number(r->file.values[topic], 0, 0, &x, NULL) != MS_OK;
}

ms_status ms_training_note_batch(ms_training_reading *r, const char *absent)
{
    if (!absent || strcmp(absent, "1") == 0 || ms_run_field_is_set(r->draft, "batch"))
        return MS_OK;
    return ms_note_add(r->notes, r->arena, r->err,
                       "the training arguments give no batch, so it is the trainer's default of %s "
                       "sequences (--batch)",
                       absent);
}

ms_status ms_training_offer_inputs_on_host(ms_training_reading *r, ms_training_topic topic)
{
    return ms_training_offer(r, "treat", inputs_on_host(r), topic);
}

ms_status ms_training_expand_segments(ms_training_reading *r)
{
    return ms_run_field_is_set(r->draft, "allocator") || r->draft->has_allocator_conf ||
                   ms_training_on_cpu(r)
               ? MS_OK
               : ms_run_field_set(r->draft, r->arena, "allocator", "cuda-expandable", r->err);
}

bool ms_training_divides(const ms_training_reading *r)
{
    const ms_layout *given = &r->draft->run.parallel.layout;
    return r->ranks != MS_PARALLEL_NONE
               ? r->ranks != MS_PARALLEL_DDP
               : ms_layout_shards(given) || given->kind == MS_PARALLEL_ZERO;
}

bool ms_training_is_zero3(const ms_training_reading *r)
{
    const ms_layout *layout = &r->draft->run.parallel.layout;
    return layout->kind == MS_PARALLEL_ZERO && layout->stage == 3;
}
