/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selective checkpoints: a checkpoint whose forward keeps the results of some operators
 * (torch.utils.checkpoint.create_selective_checkpoint_contexts). The results of an operator are the
 * storages that it allocated and saved, or did not free by its end. When the region is recomputed,
 * such an operator does not run: it allocates nothing, and the kept storages take the place of its
 * results, with the usual lifetime from then on.
 */
#include "torch/treatments/selective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "core/trace/build.h"

static ms_op_count *find_count(const ms_op_counts *counts, const char *name)
{
    for (uint32_t i = 0; i < counts->count; i++)
        if (strcmp(counts->items[i].name, name) == 0)
            return &counts->items[i];
    return NULL;
}

/* The number of times an operator of this name ran before. */
static uint32_t count_op(ms_tape *tape, ms_op_counts *counts, const char *name)
{
    ms_op_count *before = find_count(counts, name);
    if (before)
        return before->count++;
    if (!ms_vec_push(counts, (ms_op_count){name, 1}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return 0;
}

static bool is_kept(const ms_stored_weights *checkpoint, const char *name, uint32_t occurrence)
{
    for (uint32_t i = 0; i < checkpoint->kept_op_count; i++) {
        const ms_kept_op *kept = &checkpoint->kept_ops[i];
        if ((kept->occurrence == UINT32_MAX || kept->occurrence == occurrence) &&
            ms_kept_name_means(kept->name, name))
            return true;
    }
    return false;
}

/* ---- the hooks ---- */

static bool is_again(const ms_tape *tape)
{
    return ms_hooks_saving(tape) == MS_SAVING_AGAIN;
}

static void begin_op(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    ms_checkpoints *all = context;
    const ms_stored_weights *checkpoint = &all->rows.items[number];
    all->is_kept = is_kept(checkpoint, op->name, count_op(tape, &all->op_counts, op->name));
    all->first_storage = tape->trace->storages.count;
    tape->muted = all->is_kept && is_again(tape);
}

/* Where an operator in place is not run again, what it should write to stays as it was. */
static bool is_in_place(const char *name)
{
    return name[0] && name[strlen(name) - 1] == '_';
}

static void keep(ms_tape *tape, ms_checkpoints *all, ms_stored_weights *checkpoint,
                 uint32_t storage)
{
    if (tape->trace->storages.items[storage].category == MS_CATEGORY_WORKSPACE)
        return;
    for (uint32_t i = checkpoint->first_kept; i < all->kept.count; i++)
        if (all->kept.items[i] == storage)
            return;
    if (!ms_vec_push(&all->kept, storage)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    /* In the order in which they were made: so recomputation meets them. */
    for (uint32_t i = all->kept.count - 1;
         i > checkpoint->first_kept && all->kept.items[i - 1] > storage; i--) {
        all->kept.items[i] = all->kept.items[i - 1];
        all->kept.items[i - 1] = storage;
    }
    ms_storage_retain(tape, storage);
    checkpoint->kept_count++;
    ms_trace_save(tape->trace, storage);
}

void ms_selective_save(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint, ms_tensor tensor)
{
    uint32_t storage = ms_info(tape, tensor)->storage;
    if (all->is_kept && storage >= all->first_storage)
        keep(tape, all, &all->rows.items[checkpoint], storage);
}

static void take(ms_tape *tape, const ms_checkpoints *all, ms_stored_weights *checkpoint,
                 uint32_t storage)
{
    if (checkpoint->taken_count == checkpoint->kept_count)
        return;
    ms_storage_stand_in(tape, storage,
                        all->kept.items[checkpoint->first_kept + checkpoint->taken_count++]);
}

static void end_op(ms_tape *tape, void *context, uint32_t number)
{
    ms_checkpoints *all = context;
    bool was_kept = all->is_kept;
    all->is_kept = tape->muted = false;
    for (uint32_t i = all->first_storage; was_kept && i < tape->trace->storages.count; i++) {
        if (!ms_storage_is_held(tape, i))
            continue;
        if (is_again(tape))
            take(tape, all, &all->rows.items[number], i);
        else
            keep(tape, all, &all->rows.items[number], i);
    }
}

void ms_selective_begin(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint)
{
    all->op_counts.count = 0;
    ms_hooks_push_op(
        tape,
        (ms_op_hooks){.begin = begin_op, .end = end_op, .context = all, .number = checkpoint});
}

void ms_selective_end(ms_tape *tape)
{
    ms_hooks_pop_op(tape);
}

void ms_selective_drop(ms_tape *tape, ms_checkpoints *all, ms_stored_weights *checkpoint)
{
    while (checkpoint->taken_count < checkpoint->kept_count)
        ms_storage_release(tape,
                           all->kept.items[checkpoint->first_kept + checkpoint->taken_count++]);
}

/* ---- operators that no layer runs ---- */

typedef struct watch {
    const ms_treatment *treatments;
    uint64_t layers;
    bool is_on;                   /* until the first forward is over */
    ms_op_counts op_counts;       /* of the layer that runs */
    ms_op_counts most_ops;        /* that one layer ran */
    const ms_kept_op *missing_op; /* to be kept, but no layer runs it */
    const char *changed_op;       /* to be kept, but its results are changed in place */
    const char *random_op;        /* to be kept, but others draw random numbers after it */
} watch;

static void free_watch(void *state)
{
    watch *w = state;
    ms_vec_free(&w->op_counts);
    ms_vec_free(&w->most_ops);
}

static void count_begin_op(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    watch *w = context;
    (void)number;
    (void)count_op(tape, &w->op_counts, op->name);
}

static void begin_layer(ms_tape *tape, void *context, uint32_t scope)
{
    watch *w = context;
    if (!w->is_on || scope == MS_NONE)
        return;
    w->op_counts.count = 0;
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = count_begin_op, .context = w});
}

static void end_layer(ms_tape *tape, watch *w)
{
    ms_hooks_pop_op(tape);
    for (uint32_t i = 0; i < w->op_counts.count; i++) {
        ms_op_count *ran = &w->op_counts.items[i];
        ms_op_count *most = find_count(&w->most_ops, ran->name);
        if (most && most->count < ran->count)
            most->count = ran->count;
        else if (!most && !ms_vec_push(&w->most_ops, *ran))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static bool is_run(const watch *w, const ms_kept_op *kept)
{
    for (uint32_t i = 0; i < w->most_ops.count; i++) {
        const ms_op_count *most = &w->most_ops.items[i];
        if (ms_kept_name_means(kept->name, most->name) &&
            (kept->occurrence == UINT32_MAX || kept->occurrence < most->count))
            return true;
    }
    return false;
}

static void check(ms_tape *tape, watch *w)
{
    for (uint64_t i = 0; i < w->layers && tape->status == MS_OK; i++)
        for (uint32_t k = 0; k < w->treatments[i].kept_count && tape->status == MS_OK; k++)
            if (!is_run(w, &w->treatments[i].kept_ops[k])) {
                w->missing_op = &w->treatments[i].kept_ops[k];
                ms_tape_fail(tape, MS_ERR_CONFIG);
            }
    w->is_on = false;
}

static void end_module(ms_tape *tape, void *context, uint32_t scope)
{
    watch *w = context;
    if (!w->is_on)
        return;
    if (scope == MS_NONE)
        check(tape, w);
    else
        end_layer(tape, w);
}

static void install_watch(ms_tape *tape, void *state)
{
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = begin_layer,
                                                 .after_forward = end_module,
                                                 .context = state});
}

static const ms_state_kind watch_kind = {
    .bytes = sizeof(watch), .install = install_watch, .free = free_watch};

void ms_selective_watch(ms_tape *tape, const ms_treatment *treatments, uint64_t layers)
{
    for (uint64_t i = 0; i < layers; i++) {
        watch *w = treatments[i].kept_count ? ms_hooks_state(tape, &watch_kind) : NULL;
        if (!w)
            continue;
        w->treatments = treatments;
        w->layers = layers;
        w->is_on = true;
    }
}

enum { MOST_NAMED = 3 };

/* The names nearest to `wanted`, nearest first; of equals the one that runs first. */
static uint32_t list_nearest(const watch *w, const char *wanted, const char **names)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->most_ops.count; i++) {
        const char *name = w->most_ops.items[i].name;
        uint32_t at = count < MOST_NAMED ? count++ : MOST_NAMED;
        size_t distance = ms_name_distance(wanted, name);
        for (; at > 0 && ms_name_distance(wanted, names[at - 1]) > distance; at--)
            if (at < MOST_NAMED)
                names[at] = names[at - 1];
        if (at < MOST_NAMED)
            names[at] = name;
    }
    return count;
}

/* Recomputation would not draw what a kept operator drew, and give others what comes before. */
static bool is_drawn_from_later(const ms_trace *trace, uint32_t op)
{
    const ms_op_exec *first = &trace->ops.items[op];
    for (uint32_t i = op + 1; first->is_random && i < trace->ops.count; i++)
        if (trace->ops.items[i].is_random)
            return true;
    return false;
}

void ms_selective_check(ms_tape *tape, const ms_checkpoints *all,
                        const ms_stored_weights *checkpoint)
{
    const ms_trace *trace = tape->trace;
    for (uint32_t i = 0; i < checkpoint->kept_count && tape->status == MS_OK; i++) {
        const ms_storage *kept =
            &trace->storages.items[all->kept.items[checkpoint->first_kept + i]];
        if (kept->op == MS_NONE) /* operators are recorded in the last step only */
            continue;
        const char *name = trace->ops.items[kept->op].name;
        bool is_changed = kept->is_changed || is_in_place(name);
        bool is_random = is_drawn_from_later(trace, kept->op);
        watch *w = is_changed || is_random ? ms_hooks_state(tape, &watch_kind) : NULL;
        if (!w)
            continue;
        w->changed_op = is_changed ? name : NULL;
        w->random_op = name;
        ms_tape_fail(tape, MS_ERR_CONFIG);
    }
}

static void complain_of_missing(const watch *w, const char *before, ms_error *err)
{
    const ms_kept_op *op = w->missing_op;
    const ms_op_count *most = find_count(&w->most_ops, op->name);
    const char *names[MOST_NAMED];
    char list[128] = "";
    uint32_t count = most ? 0 : list_nearest(w, op->name, names);
    for (uint32_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (uint32_t)snprintf(list + used, sizeof list - used, "%s%.30s",
                                   i == 0           ? ""
                                   : i + 1 == count ? " and "
                                                    : ", ",
                                   names[i]);
    (void)(most ? ms_fail(err, MS_ERR_CONFIG,
                          "%sa layer runs %.40s %" PRIu32
                          " times, numbered from 0: there is no %.40s#%" PRIu32,
                          before, op->name, most->count, op->name, op->occurrence)
                : ms_fail(err, MS_ERR_CONFIG,
                          "%sno layer runs an operator '%.40s'; the nearest that layers run are %s",
                          before, op->name, list));
}

bool ms_selective_complain(const ms_tape *tape, const ms_error *place, ms_error *err)
{
    const watch *w = ms_hooks_find_state(tape, &watch_kind);
    const char *before = place ? "" : "treat: ";
    if (!w || (!w->missing_op && !w->changed_op && !w->random_op))
        return false;
    if (w->missing_op)
        complain_of_missing(w, before, err);
    else if (!w->changed_op)
        (void)ms_fail(err, MS_ERR_CONFIG,
                      "%s%.40s draws random numbers for its dropout: if its results are kept, "
                      "later dropouts draw other numbers than in forward",
                      before, w->random_op);
    else
        (void)ms_fail(err, MS_ERR_CONFIG,
                      "%sthe results of %.40s are changed in place, and PyTorch cannot keep such "
                      "results",
                      before, w->changed_op);
    ms_error_copy_place(err, place);
    return true;
}
