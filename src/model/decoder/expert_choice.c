/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/expert_choice.h"

#include "input/config/model/model_config.h"
#include "torch/autograd/hooks.h"
#include "torch/ops/moe/routing.h"

/* scores.view(-1, groups, experts / groups) */
static ms_tensor by_group(ms_model *model, ms_tensor scores)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    if (ms_idle(tape) || !scores)
        return 0;
    ms_dim tokens = ms_info(tape, scores)->shape.dims[0];
    return ms_view(tape, scores,
                   MS_SHAPE(tokens, ms_dim_number(s, c->expert_groups),
                            ms_dim_number(s, c->num_experts / c->expert_groups)));
}

/* Locals of the router: the best groups, and a mask of their experts, [N, E]. */
typedef struct group_choice {
    ms_tensor *groups, *mask;
} group_choice;

/* The groups with the best scores, [N, groups], which stay the caller's. */
static group_choice choose_groups(ms_model *model, ms_locals *f, ms_tensor group_scores)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_tensor best[2];
    ms_topk(tape, group_scores, ms_dim_number(s, c->chosen_groups), best);
    ms_retain(tape, best[1]);
    ms_consume(tape, best[0]);
    group_choice choice = {.groups = ms_local(f, ms_unown(tape, best[1]))};
    ms_tensor *chosen = ms_local(f, ms_zeros_like(tape, group_scores));
    choice.mask = ms_local(f, 0);
    if (ms_idle(tape))
        return choice;
    ms_shape shape = ms_info(tape, *chosen)->shape;
    ms_dim tokens = shape.dims[0], each = ms_dim_number(s, c->num_experts / c->expert_groups);
    ms_tensor wide =
        ms_expand(tape, ms_unsqueeze(tape, *chosen, 2), MS_SHAPE(tokens, shape.dims[1], each));
    ms_assign(f, choice.mask, ms_reshape(tape, wide, MS_SHAPE(tokens, ms_expert_count(model))));
    return choice;
}

/* Whether the nodes of the choice keep what they save: not where the scores need no gradient, nor
 * where forward will run again. */
static bool keeps_in_passing(ms_tape *tape, ms_tensor scores)
{
    return ms_needs_grad(tape, scores) && ms_hooks_saving(tape) != MS_SAVING_NOTHING;
}

/* topk(2)[0].sum(), and in *pairs the indices, which only the node keeps; a local of the caller. */
static ms_tensor score_groups(ms_model *model, ms_tensor scores, bool keeps, ms_locals *f,
                              ms_tensor *pairs)
{
    ms_tape *tape = model->tape;
    ms_tensor best[2];
    ms_topk(tape, by_group(model, scores), ms_dim_number(&tape->trace->symbols, 2), best);
    if (keeps)
        ms_assign(f, pairs, best[1]);
    else
        ms_consume(tape, best[1]);
    return ms_sum_dim(tape, best[0], 2, false);
}

void ms_choose_by_pairs(ms_model *model, ms_tensor scores, ms_tensor bias,
                        ms_tensor out[MS_CHOICE_VALUES])
{
    ms_tape *tape = model->tape;
    const bool grad_enabled = tape->grad_enabled, keeps = keeps_in_passing(tape, scores);
    const bool counts = ms_needs_grad(tape, scores);
    ms_tensor best[2];
    tape->grad_enabled = false;
    ms_locals locals = ms_locals_begin(tape), *f = &locals;
    ms_tensor *hidden_mask = ms_local(f, 0);
    ms_tensor *choice = ms_local(f, ms_add(tape, scores, bias));
    ms_tensor *pairs = ms_local(f, 0);
    ms_tensor *groups = ms_local(f, score_groups(model, *choice, keeps, f, pairs));
    group_choice chosen = choose_groups(model, f, *groups);
    ms_assign(f, hidden_mask, ms_where_zero(tape, *chosen.mask));
    ms_tensor filled = ms_masked_fill(tape, *choice, *hidden_mask);
    if (!keeps)
        ms_assign(f, hidden_mask, 0);
    ms_assign(f, choice, filled);
    ms_topk(tape, *choice, ms_experts_per_token(model), best);
    ms_retain(tape, best[1]);
    ms_consume(tape, best[0]);
    tape->grad_enabled = grad_enabled;
    const ms_tensor passing[] = {*pairs, *chosen.groups, *hidden_mask};
    for (size_t i = 0; counts && i < sizeof passing / sizeof *passing; i++)
        ms_save_in_passing(tape, passing[i]);
    ms_local(f, ms_unown(tape, best[1]));
    for (uint32_t i = 0; i < MS_CHOICE_VALUES; i++)
        ms_retain(tape, out[i] = locals.slots[MS_CHOICE_VALUES - 1 - i]);
    ms_locals_end(f, NULL);
    for (uint32_t i = 0; i < MS_CHOICE_VALUES; i++)
        ms_unown(tape, out[i]);
}
