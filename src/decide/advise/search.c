/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/search.h"

#include <string.h>

#include "base/reason.h"
#include "input/config/run/run_config.h"

/* ---- together ---- */

/* Which candidates go together, and the largest sets of those that do. */

typedef struct ms_together {
    const ms_trials *trials;
    ms_candidate_set against[MS_MOST_CANDIDATES]; /* what does not go with a candidate */
    ms_candidate_set asked[MS_MOST_CANDIDATES];   /* what that is known of */
} ms_together;

enum { MS_MOST_MAXIMAL = 16 };

typedef struct ms_maximal_sets {
    ms_candidate_set items[MS_MOST_MAXIMAL];
    uint32_t count;
} ms_maximal_sets;

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

/* Whether a candidate does not go with one of a set. What goes together in pairs is taken to do so
 * all together; trials find out where not. */
static ms_status together_ask(ms_together *t, ms_candidate_set set, uint32_t with, bool *is_against)
{
    ms_status status = MS_OK;
    *is_against = false;
    for (uint32_t i = 0; set >> i && status == MS_OK && !*is_against; i++)
        if (set & ms_bit(i))
            status = ask(t, i, with, is_against);
    return status;
}

/* Without those that a stronger one of the same kind and cost stands for. */
static ms_candidate_set ms_strongest(ms_candidate_set set)
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

/* Lists the sets of `nodes` that go together and to which no other of them could be added. */
static ms_status maximal_list(ms_together *together, ms_candidate_set nodes, ms_maximal_sets *sets)
{
    sets->count = 0;
    return extend(together, 0, nodes, 0, sets);
}

/* ---- search ---- */

typedef struct search {
    ms_trials *trials;
    ms_candidate_set applicable, of_cost[MS_COST_COUNT];
    ms_candidate_set last_resort, library, variant, allocator, of_kept; /* by their traits */
    ms_together together;
    ms_fit_verdict verdict; /* of the unchanged run */
    ms_found_list *found;
    bool is_thorough;              /* nothing fits: what needs least is looked for */
    ms_trial least[MS_COST_COUNT]; /* of what does not fit: needs least; set 0: none */
} search;

/* A search among some of the candidates. */
typedef struct route {
    ms_candidate_set allowed;
    ms_candidate_set needed; /* one of these at least; 0: none is */
} route;

static uint32_t highest(ms_candidate_set set)
{
    return set ? 31 - (uint32_t)__builtin_clz(set) : 0;
}

/* ---- what is known ---- */

static bool reaches(const ms_trial *t, ms_fit_verdict wanted)
{
    return !t->is_refused && ms_reason_verdict(t->reason) >= wanted;
}

/* A set that is known not to do, does not with less either; nor does one that keeps as much. */
static bool is_ruled_out(const search *s, ms_candidate_set set, ms_fit_verdict wanted)
{
    const ms_run_config *run = s->trials->job->run;
    if (ms_kept_exceeds(run, ms_combination_left_bytes(set, &s->trials->kept)))
        return true;
    for (uint32_t i = 0; i < s->trials->known.count; i++) {
        const ms_trial *t = &s->trials->known.items[i];
        bool is_less = (set & ~t->set) == 0 && !reaches(t, wanted);
        bool keeps_the_same =
            ((set ^ t->set) & s->of_kept) == 0 && ms_kept_exceeds(run, t->kept_bytes);
        if (ms_trials_count(s->trials, t) && !t->is_refused && (is_less || keeps_the_same))
            return true;
    }
    return false;
}

/* ---- what goes together ---- */

static ms_status list_maximal(search *s, const route *r, ms_maximal_sets *sets)
{
    ms_maximal_sets all;
    const ms_candidate_set nodes = ms_strongest(r->allowed & ~(s->allocator | s->variant));
    ms_status status = maximal_list(&s->together, nodes, &all);
    sets->count = 0;
    for (uint32_t i = 0; i < all.count; i++)
        if (all.items[i] && (!r->needed || (all.items[i] & r->needed)) &&
            (s->is_thorough || !is_ruled_out(s, all.items[i], MS_VERDICT_TIGHT)))
            sets->items[sets->count++] = all.items[i];
    return status;
}

/* ---- what fits ---- */

static ms_status meets(search *s, ms_candidate_set set, ms_fit_verdict wanted, bool *yes)
{
    ms_trial t;
    ms_status status = MS_OK;
    *yes = false;
    s->trials->asks_fit = wanted == MS_VERDICT_FITS;
    if (set != 0 && !is_ruled_out(s, set, wanted)) {
        status = ms_trials_one(s->trials, set, &t);
        *yes = status == MS_OK && reaches(&t, wanted);
    }
    s->trials->asks_fit = false;
    return status;
}

/* Replaces a candidate by the mildest that does in its place. */
static ms_status weaken(search *s, uint32_t index, ms_fit_verdict wanted, ms_candidate_set *set)
{
    ms_status status = MS_OK;
    const ms_candidate *c = ms_candidate_at(index);
    for (uint32_t i = 0; i < index && status == MS_OK; i++) {
        const ms_candidate *milder = ms_candidate_at(i);
        ms_candidate_set rest = *set & ~ms_bit(index);
        bool is_against, yes = false;
        if (!(s->applicable & ~s->variant & ms_bit(i)) || milder->cost != c->cost ||
            !ms_candidates_exclude(milder, c))
            continue;
        status = together_ask(&s->together, rest, i, &is_against);
        if (status == MS_OK && !is_against)
            status = meets(s, rest | ms_bit(i), wanted, &yes);
        if (yes) {
            *set = rest | ms_bit(i);
            return status;
        }
    }
    return status;
}

static ms_status shrink(search *s, const route *r, ms_fit_verdict wanted, ms_candidate_set *set)
{
    ms_status status = MS_OK;
    for (uint32_t i = highest(*set) + 1; i-- > 0 && status == MS_OK;) {
        const ms_candidate_set without = *set & ~ms_bit(i);
        bool yes = false;
        if (!(*set & ms_bit(i)))
            continue;
        if (!r->needed || (without & r->needed))
            status = meets(s, without, wanted, &yes);
        if (yes)
            *set = without;
        else if (status == MS_OK)
            status = weaken(s, i, wanted, set);
    }
    return status;
}

static void note_least(search *s, const ms_trial *t)
{
    ms_trial *least = &s->least[ms_combination_cost(t->set)];
    if (!t->is_refused && (!least->set || t->wanted_bytes < least->wanted_bytes))
        *least = *t;
}

/* The best verdict among sets that were simulated. */
static ms_fit_verdict best_verdict(search *s, const ms_maximal_sets *sets)
{
    ms_fit_verdict best = MS_VERDICT_NO;
    for (uint32_t i = 0; i < sets->count; i++) {
        const ms_trial *t = ms_trials_find(s->trials, sets->items[i]);
        if (!t)
            continue;
        note_least(s, t);
        if (!t->is_refused && ms_reason_verdict(t->reason) > best)
            best = ms_reason_verdict(t->reason);
    }
    return best;
}

/* A leaner allocator helps where what is requested has room. */
static ms_status try_allocators(search *s, const route *r, ms_maximal_sets *sets)
{
    const ms_candidate_set allocator = r->allowed & s->allocator;
    const ms_run_config *run = s->trials->job->run;
    const uint64_t capacity = ms_budget_capacity(run->device, run->budget_bytes);
    ms_maximal_sets with = {.count = 0};
    for (uint32_t i = 0; allocator && i < sets->count; i++) {
        const ms_trial *t = ms_trials_find(s->trials, sets->items[i]);
        if (t && !t->is_refused && (!capacity || t->least_bytes <= capacity))
            with.items[with.count++] = sets->items[i] | allocator;
    }
    *sets = with.count ? with : *sets;
    return ms_trials_run(s->trials, with.items, with.count);
}

/* The cheapest combination of a route; 0: none does. Sets are ordered by cost as their rows are. */
static ms_status follow(search *s, const route *r, ms_candidate_set *best)
{
    ms_maximal_sets sets;
    *best = 0;
    ms_status status = list_maximal(s, r, &sets);
    if (status == MS_OK)
        status = ms_trials_run(s->trials, sets.items, sets.count);
    if (status != MS_OK)
        return status;
    ms_fit_verdict wanted = best_verdict(s, &sets);
    if (wanted <= s->verdict) {
        status = try_allocators(s, r, &sets);
        wanted = best_verdict(s, &sets);
    }
    if (status != MS_OK || wanted <= s->verdict)
        return status;
    for (uint32_t i = 0; i < sets.count && status == MS_OK; i++) {
        ms_candidate_set set = sets.items[i];
        if (!reaches(ms_trials_find(s->trials, set), wanted))
            continue;
        status = shrink(s, r, wanted, &set);
        if (!*best || set < *best)
            *best = set;
        if (*best & s->last_resort) /* others cost as much */
            break;
    }
    return status;
}

/* ---- routes ---- */

/* Whether a trial that was run fits no better than another. */
static bool is_no_better(const search *s, ms_candidate_set set, ms_candidate_set other)
{
    const ms_trial *a = ms_trials_find(s->trials, set), *b = ms_trials_find(s->trials, other);
    return !a || !b || ms_reason_verdict(a->reason) <= ms_reason_verdict(b->reason);
}

static void push(search *s, ms_candidate_set set, const char *device)
{
    for (uint32_t i = 0; i < s->found->count; i++)
        if (!device && (s->found->items[i].set & ~set) == 0 &&
            is_no_better(s, set, s->found->items[i].set))
            return; /* it does without some of these */
    if (s->found->count < MS_MOST_FOUND)
        s->found->items[s->found->count++] = (ms_found){set, device};
}

/* The same with a milder variant of a candidate. */
static ms_status push_variant(search *s, ms_candidate_set set)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; s->variant >> i && status == MS_OK; i++) {
        ms_trial t;
        if (!(s->variant & ms_bit(i)) || !(set & ms_bit(i + 1)))
            continue;
        const ms_candidate_set other = (set & ~ms_bit(i + 1)) | ms_bit(i);
        const ms_trial *with = ms_trials_find(s->trials, set);
        status = ms_trials_one(s->trials, other, &t);
        if (status == MS_OK && with && reaches(&t, ms_reason_verdict(with->reason)))
            push(s, other, NULL);
    }
    return status;
}

/* What is already known to do without another library, if less well. */
static ms_status push_known(search *s, ms_candidate_set set)
{
    ms_status status = MS_OK;
    if (ms_trials_is_open(s->trials, set))
        status = ms_trials_run(s->trials, &set, 1);
    const ms_trial *t = ms_trials_find(s->trials, set);
    if (status == MS_OK && t && !t->is_refused && ms_reason_verdict(t->reason) > s->verdict)
        push(s, set, NULL);
    return status;
}

/* Pushes the cheapest combination and, where that takes another library, the cheapest without. */
static ms_status try_route(search *s, const route *r, ms_candidate_set *set)
{
    ms_candidate_set without = 0, libraries = s->library & s->of_cost[MS_COST_FREE];
    ms_status status = follow(s, r, set);
    if (status != MS_OK || !*set)
        return status;
    push(s, *set, NULL);
    if (!(*set & libraries))
        return MS_OK;
    if (*set & (s->last_resort | s->of_cost[MS_COST_RESULT]))
        return push_known(s, *set & ~libraries);
    status = follow(s, &(route){r->allowed & ~libraries, r->needed}, &without);
    if (without)
        push(s, without, NULL);
    return status;
}

/* Who does not want another library may want to pay in time. */
static ms_status do_without_libraries(search *s, ms_candidate_set allowed)
{
    ms_candidate_set without;
    ms_status status = follow(s, &(route){allowed & ~s->library, 0}, &without);
    if (status == MS_OK && without)
        push(s, without, NULL);
    return status;
}

/* How dear the cheapest way is to the same result that fits. */
typedef enum price { PRICE_NOTHING, PRICE_LITTLE, PRICE_MUCH } price;

/* With the same result. */
static ms_status keep_result(search *s, price *paid)
{
    const ms_candidate_set time = s->of_cost[MS_COST_FREE] | s->of_cost[MS_COST_TIME];
    const ms_candidate_set tiers[] = {s->of_cost[MS_COST_FREE], time & ~s->last_resort, time};
    enum { TIERS = sizeof tiers / sizeof *tiers };
    ms_candidate_set set = 0;
    ms_status status = MS_OK;
    *paid = PRICE_MUCH;
    for (int i = 0; i < TIERS && status == MS_OK && *paid == PRICE_MUCH; i++) {
        if (i > 0 && tiers[i] == tiers[i - 1])
            continue;
        status = try_route(s, &(route){tiers[i], 0}, &set);
        if (set && reaches(ms_trials_find(s->trials, set), MS_VERDICT_FITS))
            *paid = (price)i;
    }
    if (status == MS_OK && *paid == PRICE_NOTHING && (set & s->library))
        status = do_without_libraries(s, time & ~s->last_resort);
    return status == MS_OK && set ? push_variant(s, set) : status;
}

static ms_status change_rounding(search *s, bool *is_found)
{
    ms_candidate_set set = 0;
    const ms_candidate_set light =
        (s->of_cost[MS_COST_FREE] | s->of_cost[MS_COST_TIME]) & ~s->last_resort;
    const ms_candidate_set rounding = s->of_cost[MS_COST_ROUNDING];
    ms_status status = rounding ? try_route(s, &(route){light | rounding, rounding}, &set) : MS_OK;
    *is_found = set != 0;
    return status;
}

/* `rounds`: other rounding alone does already. */
static ms_status change_result(search *s, bool rounds)
{
    ms_status status = MS_OK;
    ms_candidate_set done = 0;
    const ms_candidate_set light =
        (s->of_cost[MS_COST_FREE] | s->of_cost[MS_COST_TIME]) & ~s->last_resort;
    for (uint32_t i = 0; ms_candidate_at(i) && status == MS_OK; i++) {
        ms_candidate_set set = 0;
        if (!(s->of_cost[MS_COST_RESULT] & ms_bit(i)) || ms_combination_excludes(done, i))
            continue;
        status = try_route(s, &(route){light | ms_bit(i), ms_bit(i)}, &set);
        if (status == MS_OK && !set && !rounds)
            status = try_route(
                s, &(route){light | s->of_cost[MS_COST_ROUNDING] | ms_bit(i), ms_bit(i)}, &set);
        done |= set ? ms_bit(i) : 0;
    }
    return status;
}

/* ---- another device ---- */

static void change_device(search *s, uint64_t needed_bytes)
{
    const ms_trials *trials = s->trials;
    const ms_device *next = ms_larger_device(&trials->others, trials->job->run, needed_bytes);
    if (next)
        push(s, 0, next->name);
}

/* ---- all of it ---- */

static search begin(ms_trials *trials, ms_candidate_set applicable, ms_fit_verdict verdict,
                    ms_found_list *found)
{
    search s = {.trials = trials,
                .together = {.trials = trials},
                .applicable = applicable,
                .verdict = verdict,
                .found = found};
    found->count = 0;
    for (uint32_t i = 0; ms_candidate_at(i); i++) {
        const ms_candidate *c = ms_candidate_at(i);
        const ms_candidate_set mine = applicable & ms_bit(i);
        s.of_cost[c->cost] |= mine;
        s.last_resort |= c->traits & MS_IS_LAST_RESORT ? mine : 0;
        s.library |= c->traits & MS_IS_LIBRARY ? mine : 0;
        s.variant |= c->traits & MS_IS_VARIANT ? mine : 0;
        s.allocator |= c->traits & MS_IS_ALLOCATOR ? mine : 0;
        s.of_kept |= c->traits & MS_IS_OF_KEPT ? mine : 0;
    }
    return s;
}

/* Follows the widest routes to their ends. */
static ms_status push_least(search *s)
{
    const ms_candidate_set same = s->of_cost[MS_COST_FREE] | s->of_cost[MS_COST_TIME];
    const ms_candidate_set rounding = s->of_cost[MS_COST_ROUNDING];
    ms_candidate_set set;
    s->is_thorough = true;
    ms_status status = follow(s, &(route){same, 0}, &set);
    if (status == MS_OK && rounding)
        status = follow(s, &(route){same | rounding, rounding}, &set);
    for (uint32_t i = 0; ms_candidate_at(i) && status == MS_OK; i++)
        if (s->of_cost[MS_COST_RESULT] & ms_bit(i))
            status = follow(s, &(route){same | rounding | ms_bit(i), ms_bit(i)}, &set);
    for (int i = 0; i < MS_COST_COUNT && status == MS_OK; i++) {
        if (!s->least[i].set)
            continue;
        status = ms_trials_refine(s->trials, &s->least[i]);
        push(s, s->least[i].set, NULL);
    }
    return status;
}

ms_status ms_search_combinations(ms_trials *trials, ms_candidate_set applicable,
                                 ms_fit_verdict verdict, uint64_t needed_bytes,
                                 ms_found_list *found)
{
    search s = begin(trials, applicable, verdict, found);
    bool rounds = false;
    price paid;
    ms_status status = keep_result(&s, &paid);
    if (status == MS_OK && paid > PRICE_NOTHING)
        status = change_rounding(&s, &rounds);
    if (status == MS_OK && paid == PRICE_MUCH)
        status = change_result(&s, rounds);
    if (status == MS_OK && found->count == 0 && trials->is_exact)
        status = push_least(&s);
    if (status == MS_OK)
        change_device(&s, needed_bytes);
    return status;
}
