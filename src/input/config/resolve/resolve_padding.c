/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_padding.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/model/family.h"

static bool is_unpredicted(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->family->unpredicted & MS_UNPREDICTED_PADDING;
}

static bool takes_no_words(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->image_tokens > 0 || model->mel_bins > 0;
}

static bool has_images(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return run->images.count > 0;
}

static bool divides_sequences(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return run->parallel.layout.context > 1;
}

static bool has_stages(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return ms_layout_has_stages(&run->parallel.layout);
}

typedef struct refusal {
    bool (*holds)(const ms_model_config *model, const ms_run_config *run);
    const char *reason;
} refusal;

static const refusal refusals[] = {
    {takes_no_words, "the model takes images or sound, which are not padded"},
    {is_unpredicted, "padded batches are not predicted for this family"},
    {has_images, "padded batches are not predicted with images"},
    {divides_sequences, "ring attention takes no mask"},
    {has_stages, "padded batches are not predicted for a pipeline"},
};

const char *ms_padding_refusal(const ms_model_config *model, const ms_run_config *run)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].holds(model, run))
            return refusals[i].reason;
    return NULL;
}

/* Documents of a row are told apart by a mask. */
static ms_status check_documents(const ms_resolving *c)
{
    static const char field[] = "documents";
    const ms_run_config *run = c->run;
    if (!run->documents)
        return MS_OK;
    if (run->padding.given != MS_PADDING_YES)
        return ms_resolve_fail(c, field, "a mask keeps them apart; --padding yes predicts it");
    if (run->batch != 1)
        return ms_resolve_fail(c, field, "they are joined into one row: give --batch 1");
    if (run->documents < run->joined)
        return ms_resolve_fail(
            c, field, "a row joins %" PRIu64 " sequences of at least one token each", run->joined);
    if (run->documents >= run->seq_tokens)
        return ms_resolve_fail(c, field, "a row has only %" PRIu64 " tokens", run->seq_tokens);
    return c->model->family->unpredicted & MS_UNPREDICTED_DOCUMENTS
               ? ms_resolve_fail(c, field, "packed rows are not predicted for %s",
                                 c->model->model_type)
               : MS_OK;
}

ms_status ms_resolve_padding(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    ms_status status = check_documents(c);
    if (status != MS_OK)
        return status;
    const ms_padding given = run->padding.given;
    run->padding.simulated = given == MS_PADDING_UNKNOWN ? MS_PADDING_YES : given;
    const char *reason = given != MS_PADDING_NO ? ms_padding_refusal(c->model, run) : NULL;
    if (!reason)
        return MS_OK;
    if (given != MS_PADDING_UNKNOWN)
        return ms_resolve_fail(c, "padding", "%s", reason);
    run->padding.simulated = MS_PADDING_NO;
    if (takes_no_words(c->model, run))
        return MS_OK;
    return ms_note_add(c->notes, c->arena, c->err,
                       "padding: %s; the figures are for batches without padding", reason);
}
