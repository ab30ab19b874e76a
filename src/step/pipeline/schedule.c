/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/pipeline/schedule.h"

/* Actions that are added one by one. */
typedef struct writer {
    ms_pipeline_action *actions;
    uint64_t count;
} writer;

static void add(writer *w, bool is_forward, uint64_t stage, uint64_t micro_batch)
{
    w->actions[w->count++] =
        (ms_pipeline_action){is_forward, (uint32_t)stage, (uint32_t)micro_batch};
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A rank runs ahead by as many micro-batches as there are ranks from it to the last; then backward
 * and forward alternate. */
static void write_1f1b(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    uint64_t ahead = least(p->micro_batches, p->ranks - rank);
    for (uint64_t i = 0; i < ahead; i++)
        add(w, true, 0, i);
    for (uint64_t i = 0; i < p->micro_batches; i++) {
        add(w, false, 0, i);
        if (i + ahead < p->micro_batches)
            add(w, true, 0, i + ahead);
    }
}

static void write_gpipe(const ms_pipeline_layout *p, writer *w)
{
    for (uint64_t i = 0; i < p->micro_batches; i++)
        add(w, true, 0, i);
    for (uint64_t i = 0; i < p->micro_batches; i++)
        add(w, false, 0, i);
}

/* One stage after the other; backward takes the last micro-batch first. */
static void write_looped(const ms_pipeline_layout *p, writer *w)
{
    for (uint64_t stage = 0; stage < p->stages; stage++)
        for (uint64_t i = 0; i < p->micro_batches; i++)
            add(w, true, stage, i);
    for (uint64_t stage = p->stages; stage-- > 0;)
        for (uint64_t i = p->micro_batches; i-- > 0;)
            add(w, false, stage, i);
}

/* The n-th pass in one direction: rounds of micro-batches through each stage in turn. */
static void add_round(const ms_pipeline_layout *p, uint64_t per_round, bool is_forward, uint64_t n,
                      writer *w)
{
    uint64_t turn = n / per_round, stage = turn % p->stages;
    add(w, is_forward, is_forward ? stage : p->stages - 1 - stage,
        turn / p->stages * per_round + n % per_round);
}

static void write_interleaved(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    uint64_t rounds = p->micro_batches / p->ranks ? p->micro_batches / p->ranks : 1;
    uint64_t per_round = p->micro_batches / rounds, all = p->stages * p->micro_batches;
    uint64_t ahead = least((p->stages - 1) * per_round + 2 * (p->ranks - 1 - rank), all);
    for (uint64_t i = 0; i < ahead; i++)
        add_round(p, per_round, true, i, w);
    for (uint64_t i = 0; i < all; i++) {
        if (i + ahead < all)
            add_round(p, per_round, true, i + ahead, w);
        add_round(p, per_round, false, i, w);
    }
}

void ms_pipeline_schedule(const ms_pipeline_layout *pipeline, uint64_t rank,
                          ms_pipeline_action *actions)
{
    writer w = {actions, 0};
    if (pipeline->kind == MS_PIPELINE_1F1B)
        write_1f1b(pipeline, rank, &w);
    else if (pipeline->kind == MS_PIPELINE_GPIPE)
        write_gpipe(pipeline, &w);
    else if (pipeline->kind == MS_PIPELINE_LOOPED_BFS)
        write_looped(pipeline, &w);
    else
        write_interleaved(pipeline, rank, &w);
}
