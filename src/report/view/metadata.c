/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/metadata.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/run/experts.h"

/* A list, and what the fields that come next are about. */
typedef struct filling {
    ms_field_list *list;
    ms_field_group group;
} filling;

static void add(const filling *f, const char *name, ms_field field)
{
    field.name = name;
    field.group = f->group;
    ms_field_list_add(f->list, field);
}

static void add_text(const filling *f, const char *name, const char *text)
{
    add(f, name, (ms_field){.kind = MS_FIELD_TEXT, .text = text});
}

static void add_count(const filling *f, const char *name, uint64_t count)
{
    add(f, name, (ms_field){.kind = MS_FIELD_COUNT, .count = count});
}

static void add_bool(const filling *f, const char *name, bool value)
{
    add(f, name, (ms_field){.kind = MS_FIELD_BOOL, .count = value});
}

/* Nothing where there is no name. */
static void add_shown(const filling *f, const char *name, const ms_config_shown *shown)
{
    static const ms_field_kind kinds[] = {
        [MS_SHOWN_NOWHERE] = MS_FIELD_NULL,  [MS_SHOWN_TEXT] = MS_FIELD_TEXT,
        [MS_SHOWN_COUNT] = MS_FIELD_COUNT,   [MS_SHOWN_BOOL] = MS_FIELD_BOOL,
        [MS_SHOWN_NUMBER] = MS_FIELD_NUMBER, [MS_SHOWN_NULL] = MS_FIELD_NULL,
    };
    if (name)
        add(f, name,
            (ms_field){.kind = kinds[shown->form],
                       .text = shown->text,
                       .count = shown->count,
                       .number = shown->number});
}

static void add_options(const filling *f, const ms_run_seen *seen)
{
    ms_config_shown shown;
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++)
        add_shown(f, ms_run_field_report(i, seen, f->list->arena, &shown), &shown);
}

static void add_details(const filling *f, const ms_run_seen *seen)
{
    ms_config_shown shown;
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++)
        add_shown(f, ms_run_field_detail(i, seen, f->list->arena, &shown), &shown);
    if (seen->run->parallel.layout.kind != MS_PARALLEL_NONE)
        add_count(f, "world_size", ms_layout_world(&seen->run->parallel.layout));
    add_bool(f, "budget_given", seen->run->has_budget);
    if (seen->run->several_gpus.text)
        add_text(f, "several_gpus", seen->run->several_gpus.text);
}

static void add_model(const filling *f, const ms_model_config *model)
{
    add_text(f, "model", model->name ? model->name : "");
    add_text(f, "model_type", model->model_type);
    add_count(f, "num_layers", model->num_layers);
    add_count(f, "hidden_size", model->hidden_size);
    add_count(f, "intermediate_size", model->intermediate_size);
    if (model->num_experts) {
        add_count(f, "num_experts", model->num_experts);
        add_count(f, "experts_per_token", model->experts_per_token);
        add_count(f, "expert_intermediate_size", ms_expert_size(model));
    }
    add_count(f, "num_heads", model->num_heads);
    add_count(f, "num_kv_heads", model->num_kv_heads);
    add_count(f, "head_dim", ms_key_dim(model));
    add_count(f, "vocab_size", model->vocab_size);
    add_bool(f, "tie_word_embeddings", model->tie_word_embeddings);
}

bool ms_metadata_fill(const ms_run_seen *seen, ms_arena *arena, ms_field_list *list)
{
    *list = (ms_field_list){.arena = arena};
    add_model(&(filling){list, MS_FIELD_MODEL}, seen->model);
    add_options(&(filling){list, MS_FIELD_RUN}, seen);
    add_details(&(filling){list, MS_FIELD_DETAIL}, seen);
    return !list->has_failed;
}

const char *ms_metadata_text(const ms_field *fields, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].kind == MS_FIELD_TEXT && strcmp(fields[i].name, name) == 0)
            return fields[i].text;
    return "";
}
