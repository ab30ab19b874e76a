/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/together.h"

static ms_status ask(ms_together *t, uint32_t a, uint32_t b, bool *is_against)
{
    ms_status status = MS_OK;
    if (!(t->asked[a] & ms_bit(b))) {
        bool no = ms_candidates_exclude(ms_candidate_at(a), ms_candidate_at(b));
        if (!no)
            status = ms_trials_resolve(t->trials, ms_bit(a) | ms_bit(b), &no);
        t->asked[a] |= ms_bit(b);
        t->asked[b] |= ms_bit(a);
        t->against[a] |= no ? ms_bit(b) : 0;
        t->against[b] |= no ? ms_bit(a) : 0;
    }
    *is_against = (t->against[a] & ms_bit(b)) != 0;
    return status;
}

ms_status ms_together_ask(ms_together *t, ms_candidate_set set, uint32_t with, bool *is_against)
{
    ms_status status = MS_OK;
    *is_against = false;
    for (uint32_t i = 0; set >> i && status == MS_OK && !*is_against; i++)
        if (set & ms_bit(i))
            status = ask(t, i, with, is_against);
    return status;
}

ms_candidate_set ms_strongest(ms_candidate_set set)
{
    ms_candidate_set strongest = set;
    for (uint32_t i = 0; set >> i; i++)
        for (uint32_t k = i + 1; (set >> i & 1) && set >> k; k++) {
            const ms_candidate *weak = ms_candidate_at(i), *strong = ms_candidate_at(k);
            if ((set >> k & 1) && weak->cost == strong->cost && ms_candidates_exclude(weak, strong))
                strongest &= ~ms_bit(i);
        }
    return strongest;
}

/* Bron and Kerbosch: all sets that contain `set`, some of `may` and none of `done`. */
static ms_status extend(ms_together *t, ms_candidate_set set, ms_candidate_set may,
                        ms_candidate_set done, ms_maximal_sets *sets)
{
    ms_status status = MS_OK;
    if (!may && !done && sets->count < MS_MOST_MAXIMAL)
        sets->items[sets->count++] = set;
    for (uint32_t i = 0; may >> i && status == MS_OK; i++) {
        ms_candidate_set with_may = 0, with_done = 0;
        bool is_against;
        if (!(may & ms_bit(i)))
            continue;
        for (uint32_t k = 0; (may | done) >> k && status == MS_OK; k++) {
            if (k == i || !((may | done) & ms_bit(k)))
                continue;
            status = ask(t, i, k, &is_against);
            with_may |= is_against ? 0 : may & ms_bit(k);
            with_done |= is_against ? 0 : done & ms_bit(k);
        }
        if (status == MS_OK)
            status = extend(t, set | ms_bit(i), with_may, with_done, sets);
        may &= ~ms_bit(i);
        done |= ms_bit(i);
    }
    return status;
}

ms_status ms_maximal_list(ms_together *together, ms_candidate_set nodes, ms_maximal_sets *sets)
{
    sets->count = 0;
    return extend(together, 0, nodes, 0, sets);
}
