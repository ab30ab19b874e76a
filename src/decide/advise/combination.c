/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/combination.h"

#include <string.h>

#include "input/config/load/again.h"

/* A run while settings are added to it. */
typedef struct changing {
    const ms_job *job;
    ms_run_draft *draft;
    ms_arena *arena;
    const char *option, *treat; /* treat: of all candidates; "" none yet */
    ms_error *err;
} changing;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
}

static ms_status set_field(changing *c, const char *field, const char *value)
{
    return ms_run_change(c->draft, c->arena, field, value, &c->option, c->err);
}

/* What is treated already comes first: later parts win. */
static ms_status add_treat(changing *c, const char *value)
{
    const char *given = c->draft->run.treat;
    bool is_given = given && *given && strcmp(given, "none") != 0;
    if (!*c->treat && is_given)
        c->treat = given;
    c->treat = ms_arena_printf(c->arena, "%s%s%s", c->treat, *c->treat ? "," : "", value);
    return c->treat ? MS_OK : no_memory(c->err);
}

static ms_status set_candidate(changing *c, const ms_candidate *candidate)
{
    ms_status status = MS_OK;
    for (int i = 0; i < MS_CANDIDATE_SETTINGS && status == MS_OK; i++) {
        const ms_candidate_setting *s = &candidate->settings[i];
        if (!s->field)
            break;
        const char *value = s->make ? s->make(c->job, c->arena) : s->value;
        if (!value)
            return no_memory(c->err);
        if (strcmp(s->field, "treat") == 0)
            status = add_treat(c, value);
        else if (*value)
            status = set_field(c, s->field, value);
    }
    return status;
}

ms_status ms_combination_apply(const ms_job *job, ms_candidate_set set, const char *device,
                               ms_arena *arena, ms_variation *v, const char **option, ms_error *err)
{
    changing c = {.job = job, .arena = arena, .option = "", .treat = "", .err = err};
    c.draft = ms_arena_array(arena, ms_run_draft, 1);
    if (!c.draft)
        return no_memory(err);
    *c.draft = *job->run->draft;
    ms_status status = MS_OK;
    for (uint32_t i = 0; ms_candidate_at(i) && status == MS_OK; i++)
        if (set >> i & 1)
            status = set_candidate(&c, ms_candidate_at(i));
    if (status == MS_OK && *c.treat)
        status = set_field(&c, "treat", c.treat);
    if (status == MS_OK && device)
        status = set_field(&c, "device", device);
    *v = ms_vary(job, arena);
    v->evaluation = NULL; /* of another run */
    if (status == MS_OK)
        status = ms_run_resolve_again(arena, job->run, c.draft, job->model, &v->run, err);
    *option = c.option;
    return status;
}

static const char *join(const char *text, const char *between, const char *more, ms_arena *arena)
{
    return ms_arena_printf(arena, "%s%s%s", text, *text ? between : "", more);
}

const char *ms_combination_title(ms_candidate_set set, ms_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; ms_candidate_at(i) && text; i++)
        if (set >> i & 1)
            text = join(text, " + ", ms_candidate_at(i)->title, arena);
    return text;
}

const char *ms_combination_changes(ms_candidate_set set, ms_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; ms_candidate_at(i) && text; i++)
        if ((set >> i & 1) && ms_candidate_at(i)->changes)
            text = join(text, ", ", ms_candidate_at(i)->changes, arena);
    return text;
}

ms_advice_cost ms_combination_cost(ms_candidate_set set)
{
    ms_advice_cost most = MS_COST_FREE;
    for (uint32_t i = 0; ms_candidate_at(i); i++)
        if ((set >> i & 1) && ms_candidate_at(i)->cost > most)
            most = ms_candidate_at(i)->cost;
    return most;
}

uint32_t ms_combination_count(ms_candidate_set set)
{
    uint32_t count = 0;
    for (; set; set &= set - 1)
        count++;
    return count;
}

bool ms_combination_is_of_allocator(ms_candidate_set set)
{
    for (uint32_t i = 0; set >> i; i++)
        if ((set >> i & 1) && !(ms_candidate_at(i)->traits & MS_IS_ALLOCATOR))
            return false;
    return set != 0;
}

uint64_t ms_combination_left_bytes(ms_candidate_set set, const ms_kept *kept)
{
    uint32_t traits = 0;
    for (uint32_t i = 0; set >> i; i++)
        traits |= set >> i & 1 ? ms_candidate_at(i)->traits : 0;
    return (traits & MS_IS_OF_WEIGHTS ? 0 : kept->weight_bytes) +
           (traits & MS_IS_OF_GRADIENTS ? 0 : kept->gradient_bytes) +
           (traits & MS_IS_OF_STATES ? 0 : kept->state_bytes);
}

bool ms_combination_excludes(ms_candidate_set set, uint32_t index)
{
    for (uint32_t i = 0; set >> i; i++)
        if ((set >> i & 1) && ms_candidates_exclude(ms_candidate_at(i), ms_candidate_at(index)))
            return true;
    return false;
}
