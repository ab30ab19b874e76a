/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/as_configured.h"

#include <string.h>

/* transformers' names and what they are here; NULL: what a run has by itself. */
typedef struct known_name {
    const char *theirs, *ours;
} known_name;

static const known_name attentions[] = {{"sdpa", NULL}, {"eager", "eager"}, {NULL, NULL}};
static const known_name experts[] = {{"grouped_mm", NULL}, {"eager", "eager"}, {NULL, NULL}};

/* With a cache in pages, which training does not have. */
static const char *without_pages(const char *name)
{
    static const char pages[] = "paged|";
    return strncmp(name, pages, sizeof pages - 1) == 0 ? name + sizeof pages - 1 : name;
}

typedef struct asking {
    ms_arena *arena;
    ms_run_draft *draft;
    ms_notes *notes, *unsupported;
    ms_error *err;
} asking;

static ms_status set(const asking *a, const char *field, const char *value)
{
    ms_status status = ms_run_field_set(a->draft, a->arena, field, value, a->err);
    return status == MS_OK ? ms_note_add(a->notes, a->arena, a->err,
                                         "the model's config asks for --%s %s", field, value)
                           : status;
}

static ms_status take(const asking *a, const char *field, const char *name, const known_name *known)
{
    if (!name || ms_run_field_is_set(a->draft, field))
        return MS_OK;
    for (size_t i = 0; known[i].theirs; i++)
        if (strcmp(known[i].theirs, without_pages(name)) == 0)
            return known[i].ours ? set(a, field, known[i].ours) : MS_OK;
    return ms_note_add(a->unsupported, a->arena, a->err,
                       "%s '%.60s' of the model's config; the figures are of %s", field, name,
                       known[0].theirs);
}

/* Layers may be treated by other fields as well, which win. */
static bool says_layers(const ms_run_draft *draft)
{
    return ms_run_field_is_set(draft, "checkpointing") || ms_run_field_is_set(draft, "treat") ||
           ms_run_field_is_set(draft, "plan");
}

ms_status ms_run_as_configured(ms_arena *arena, const ms_model_config *model, ms_run_draft *draft,
                               ms_notes *notes, ms_notes *unsupported, ms_error *err)
{
    const asking a = {arena, draft, notes, unsupported, err};
    ms_status status = take(&a, "attention", model->asked_attention, attentions);
    if (status == MS_OK && model->num_experts > 0)
        status = take(&a, "experts", model->asked_experts, experts);
    if (status == MS_OK && model->asks_checkpoints && !says_layers(draft))
        status = set(&a, "checkpointing", "all");
    return status;
}
