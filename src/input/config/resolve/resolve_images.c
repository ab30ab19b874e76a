/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_images.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/model/family.h"

/* ---- words ---- */

bool ms_is_text_only(const ms_model_config *model, const ms_run_config *run)
{
    bool has_towers = model->vision.hidden_size > 0 || model->audio.hidden_size > 0;
    return has_towers && !(run && run->images.count);
}

const char *ms_images_words(const ms_model_config *model, const ms_run_config *run,
                            char out[MS_IMAGES_TEXT])
{
    uint64_t count = run->images.count;
    if (count == 0 && ms_is_text_only(model, run))
        return model->vision.hidden_size > 0 ? " without images" : " without sounds";
    if (count == 0)
        return "";
    snprintf(out, MS_IMAGES_TEXT, " with %" PRIu64 " image%s each", count, count == 1 ? "" : "s");
    return out;
}

/* ---- what they cannot be with ---- */

static bool is_zero3(const ms_run_config *run)
{
    return run->parallel.layout.kind == MS_PARALLEL_ZERO && run->parallel.layout.stage == 3;
}

/* FSDP1's flat parameters would mix trained and frozen ones. */
static bool flattens_frozen(const ms_run_config *run)
{
    return run->parallel.layout.kind == MS_PARALLEL_FSDP1 && run->images.frozen;
}

static bool is_quantized(const ms_run_config *run)
{
    return run->quantization.kind != MS_QUANTIZE_NONE;
}

static bool has_liger(const ms_run_config *run)
{
    return run->liger != 0;
}

static bool evaluates(const ms_run_config *run)
{
    return run->training.eval_batch > 0;
}

static bool waits_on_host(const ms_run_config *run)
{
    return run->parameter_device == MS_PARAMETERS_ON_HOST;
}

static bool treats(const ms_run_config *run)
{
    return run->treat && *run->treat;
}

static const struct {
    bool (*holds)(const ms_run_config *run);
    const char *why;
} refusals[] = {
    {is_zero3, "images are not predicted under ZeRO-3"},
    {flattens_frozen, "images with freeze-vision are not predicted under FSDP1"},
    {is_quantized, "images with a quantised base are not predicted"},
    {has_liger, "images with Liger's kernels are not predicted"},
    {treats, "images are not predicted with treatments of layers other than --checkpointing: leave "
             "out treat"},
    {evaluates, "an evaluation with images is not predicted: give eval-batch none"},
    {waits_on_host, "images are predicted only with the parameters on the device"},
};

/* ---- places ---- */

/* It is resolved later. */
static bool has_adapter(const ms_resolving *c)
{
    return ms_resolve_is_set(c, "adapter") || ms_run_has_lora(c->draft);
}

static ms_status check_settings(const ms_resolving *c)
{
    static const char *const fields[] = {"image-size", "freeze-vision"};
    const ms_run_config *run = c->run;
    for (size_t i = 0; i < 2 && !run->images.count; i++)
        if (ms_resolve_is_set(c, fields[i]))
            return ms_resolve_fail(c, fields[i], "there are no images, because images is none");
    if (!run->images.count)
        return MS_OK;
    if (c->model->vision.hidden_size == 0)
        return ms_resolve_fail(c, "images", "%s has no vision tower", c->model->model_type);
    if (!c->model->family->place_image)
        return ms_resolve_fail(c, "images",
                               "images are not predicted for %s: without images its tower counts "
                               "as weights",
                               c->model->model_type);
    if (run->parallel.layout.kind != MS_PARALLEL_NONE &&
        c->model->family->unpredicted & MS_UNPREDICTED_IMAGES_ON_RANKS)
        return ms_resolve_fail(c, "images",
                               "on several ranks images are predicted for llava, qwen2_vl and "
                               "qwen2_5_vl, not for %s: leave out parallel",
                               c->model->model_type);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].holds(run))
            return ms_resolve_fail(c, "images", "%s", refusals[i].why);
    if (run->images.frozen && has_adapter(c))
        return ms_resolve_fail(c, "freeze-vision",
                               "an adapter already freezes the vision tower's own weights, and "
                               "trains what its targets name");
    return MS_OK;
}

/* Before each image stands a token of text, as Qwen's <|vision_start|>. */
static ms_status check_tokens(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    const ms_run_images *images = &run->images;
    uint64_t needed = images->count * (images->grid.tokens + 1);
    if (needed <= run->seq_tokens)
        return MS_OK;
    return ms_resolve_fail(
        c, "images",
        "%" PRIu64 " image%s of %" PRIu64 " tokens, with a token before each, take %" PRIu64
        " tokens, but a sequence has %" PRIu64,
        images->count, images->count == 1 ? "" : "s", images->grid.tokens, needed, run->seq_tokens);
}

ms_status ms_resolve_images(const ms_resolving *c)
{
    ms_run_images *images = &c->run->images;
    ms_error reason = {0};
    ms_status status = check_settings(c);
    if (status != MS_OK || !images->count)
        return status;
    if (c->model->family->place_image(c->model, images->sides, &images->grid, &reason) != MS_OK)
        return ms_resolve_fail(c, "image-size", "%s", reason.text);
    images->checkpoints = strcmp(c->run->checkpointing, "all") == 0;
    return check_tokens(c);
}
