/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/speed_view.h"

#include <math.h>
#include <string.h>

#include "base/text/number.h"

const char *ms_infer_speed_number(double per_s, char text[MS_SPEED_TEXT])
{
    const double most_with_tenths = 1000, tenths = 10;
    text[0] = '\0';
    if (per_s > 0 && per_s < most_with_tenths)
        ms_fixed(ceil(per_s * tenths) / tenths, 1, text);
    else if (per_s > 0)
        ms_fixed(ceil(per_s), 0, text);
    return text;
}

static const char *limit_of(const ms_infer_view *v, const ms_infer_bound *bound)
{
    return bound->by_bytes ? "limited by memory bandwidth"
                           : ms_arena_printf(v->arena, "limited by arithmetic in %s",
                                             v->answer->speed.type ? v->answer->speed.type : "-");
}

/* "at most 76.3 tokens/s, by ..." */
static const char *bound_text(const ms_infer_view *v, const ms_infer_bound *bound,
                              const char *unknown)
{
    char number[MS_SPEED_TEXT];
    const ms_infer_speed *s = &v->answer->speed;
    if (s->reason || !(bound->per_s > 0))
        return ms_arena_printf(v->arena, "no bound: %s", s->reason ? s->reason : unknown);
    const char *limit = limit_of(v, bound);
    return limit ? ms_arena_printf(v->arena, "at most %s tokens/s, %s",
                                   ms_infer_speed_number(bound->per_s, number), limit)
                 : NULL;
}

const char *ms_infer_prefill_text(const ms_infer_view *v)
{
    const char *why = v->answer->speed.no_prefill;
    return bound_text(v, &v->answer->speed.prefill,
                      why ? why : "the device's rate for this type of weights is not known");
}

const char *ms_infer_decode_text(const ms_infer_view *v)
{
    char full[MS_SPEED_TEXT], even[MS_SPEED_TEXT];
    const ms_infer_speed *s = &v->answer->speed;
    const char *text =
        bound_text(v, &s->decode, "everything that decoding reads fits in the level 2 cache");
    bool is_slower = s->full.per_s > 0 && s->full.per_s < s->decode.per_s &&
                     strcmp(ms_infer_speed_number(s->full.per_s, full),
                            ms_infer_speed_number(s->decode.per_s, even)) != 0;
    if (text && is_slower)
        text = ms_arena_printf(v->arena, "%s; %s with a full context", text, full);
    if (text && s->even.per_s > 0)
        text = ms_arena_printf(v->arena, "%s; %s if experts are chosen evenly", text,
                               ms_infer_speed_number(s->even.per_s, even));
    return text;
}

static const char *limit_name(const ms_infer_bound *bound)
{
    return !(bound->per_s > 0) ? NULL : bound->by_bytes ? "bandwidth" : "arithmetic";
}

typedef struct speed {
    ms_infer_speed of;
    const char *prefill_limit, *decode_limit;
} speed;

#define TEXT(...) MS_MEMBER(speed, __VA_ARGS__, .rules = MS_OR_NULL)
#define BOUND(...) MS_MEMBER(speed, __VA_ARGS__, .rules = MS_OR_NULL, .decimals = 3)
static const ms_member speed_members[] = {
    BOUND("prefill_tokens_per_s", of.prefill.per_s),
    TEXT("prefill_limit", prefill_limit),
    BOUND("decode_tokens_per_s", of.decode.per_s),
    TEXT("decode_limit", decode_limit),
    BOUND("full_context_tokens_per_s", of.full.per_s),
    BOUND("even_experts_tokens_per_s", of.even.per_s),
    TEXT("arithmetic_type", of.type),
    TEXT("reason", of.reason),
};
const ms_members ms_infer_speed_table = MS_MEMBERS(speed, speed_members);

void ms_infer_speed_make(const void *of, void *made)
{
    const ms_infer_speed *s = of;
    *(speed *)made = (speed){*s, limit_name(&s->prefill), limit_name(&s->decode)};
}
