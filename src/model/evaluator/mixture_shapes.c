/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/mixture_shapes.h"

#include "model/decoder/expert_choice.h"

static bool fail(const ms_shaping *s, const ms_text_node *node, const char *what)
{
    ms_family_fail(s->reading, node, "%s", what);
    return false;
}

static uint64_t size_at(const ms_text_facts *facts, const ms_text_node *node)
{
    const double size = ms_family_number(facts, node);
    return size >= 1 && size <= 1e15 ? (uint64_t)size : 0;
}

static ms_text_shape pair(uint64_t rows, uint64_t columns)
{
    return (ms_text_shape){MS_SHAPED, 2, {rows, columns}};
}

MS_SHAPES(ms_shape_as_tokens)
{
    (void)facts, (void)maker;
    if (a->kind != MS_SHAPED || (a->rank != 2 && a->rank != 3))
        return fail(s, node, "[B, S, width] is wanted here");
    *out = a->rank == 2 ? *a : pair(a->dims[0] * a->dims[1], a->dims[2]);
    return true;
}

MS_SHAPES(ms_shape_as_sequences)
{
    (void)facts, (void)maker;
    const ms_text_shape wanted = pair(s->batch * s->seq, a->rank == 2 ? a->dims[1] : 0);
    *out = (ms_text_shape){MS_SHAPED, 3, {s->batch, s->seq, wanted.dims[1]}};
    return ms_shape_expect(s, node, a, &wanted, "what becomes sequences");
}

MS_SHAPES(ms_shape_linear_of)
{
    (void)facts, (void)maker;
    *out = a[0];
    if (a[0].kind != MS_SHAPED || a[0].rank == 0 || a[1].kind != MS_SHAPED || a[1].rank != 2 ||
        a[0].dims[a[0].rank - 1] != a[1].dims[1])
        return fail(s, node, "a weight [out, in] is wanted here, and a tensor of the width in");
    out->dims[out->rank - 1] = a[1].dims[0];
    return true;
}

MS_SHAPES(ms_shape_topk)
{
    (void)maker;
    const uint64_t count = size_at(facts, node->items[1]);
    if (a->kind != MS_SHAPED || a->rank == 0 || count == 0 || count > a->dims[a->rank - 1])
        return fail(s, node, "a tensor with at least that many elements is wanted here");
    out[0] = out[1] = *a;
    out[0].dims[a->rank - 1] = out[1].dims[a->rank - 1] = count;
    return true;
}

MS_SHAPES(ms_shape_choose_by_pairs)
{
    (void)maker;
    const ms_model_config *c = facts->config;
    if (a[0].kind != MS_SHAPED || a[0].rank != 2 || a[0].dims[1] != c->num_experts)
        return fail(s, node, "a score of each expert, [B * S, num_experts], is wanted here");
    const uint64_t each = c->expert_groups ? c->num_experts / c->expert_groups : 0;
    if (each < 2 || c->num_experts % c->expert_groups != 0 || c->chosen_groups == 0 ||
        c->chosen_groups > c->expert_groups || c->experts_per_token > each * c->chosen_groups)
        return fail(s, node,
                    "n_group groups of two or more experts are wanted here, of which topk_group "
                    "have enough");
    for (uint32_t i = 0; i < MS_CHOICE_VALUES; i++)
        out[i] = (ms_text_shape){.kind = MS_SHAPED_ANY};
    out[0] = pair(a[0].dims[0], c->experts_per_token);
    return true;
}

MS_SHAPES(ms_shape_gather)
{
    (void)facts, (void)maker;
    *out = a[1];
    return (a[0].kind == MS_SHAPED && a[1].kind == MS_SHAPED && a[0].rank == a[1].rank) ||
           fail(s, node, "places in the last dimension of the first are wanted here");
}

MS_SHAPES(ms_shape_sizes)
{
    if (a)
        return fail(s, node, "a parameter cannot be called");
    *out = (ms_text_shape){.kind = MS_SHAPED};
    for (; maker->primitive->types[out->rank] == 'd'; out->rank++)
        out->dims[out->rank] = size_at(facts, maker->items[out->rank]);
    return true;
}

MS_SHAPES(ms_shape_experts)
{
    const ms_text_shape tokens = pair(s->batch * s->seq, size_at(facts, maker->items[1]));
    *out = tokens;
    if (a[1].kind != MS_SHAPED || a[1].rank != 2 || a[1].dims[0] != tokens.dims[0])
        return fail(s, node, "each token's experts, [B * S, K], are wanted here");
    if (facts->config->experts_per_token > size_at(facts, maker->items[0]))
        return fail(s, node, "there are fewer experts than num_experts_per_tok says");
    return ms_shape_expect(s, node, &a[0], &tokens, "what experts read") &&
           ms_shape_expect(s, node, &a[2], &a[1], "the weights of experts");
}
