/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/pipeline/schedule.h"

/* Actions that are added one by one. */
typedef struct writer {
    ms_pipeline_action *actions;
    uint64_t count;
} writer;

static void add(writer *w, ms_pipeline_pass pass, uint64_t stage, uint64_t micro_batch)
{
    w->actions[w->count++] = (ms_pipeline_action){pass, (uint32_t)stage, (uint32_t)micro_batch};
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
        add(w, MS_PIPELINE_FORWARD, 0, i);
    for (uint64_t i = 0; i < p->micro_batches; i++) {
        add(w, MS_PIPELINE_BACKWARD, 0, i);
        if (i + ahead < p->micro_batches)
            add(w, MS_PIPELINE_FORWARD, 0, i + ahead);
    }
}

static void write_gpipe(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    (void)rank;
    for (uint64_t i = 0; i < p->micro_batches; i++)
        add(w, MS_PIPELINE_FORWARD, 0, i);
    for (uint64_t i = 0; i < p->micro_batches; i++)
        add(w, MS_PIPELINE_BACKWARD, 0, i);
}

/* One stage after the other; backward takes the last micro-batch first. */
static void write_looped(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    (void)rank;
    for (uint64_t stage = 0; stage < p->stages; stage++)
        for (uint64_t i = 0; i < p->micro_batches; i++)
            add(w, MS_PIPELINE_FORWARD, stage, i);
    for (uint64_t stage = p->stages; stage-- > 0;)
        for (uint64_t i = p->micro_batches; i-- > 0;)
            add(w, MS_PIPELINE_BACKWARD, stage, i);
}

/* The n-th of one kind of pass: rounds of micro-batches through each stage in turn. */
static void add_round(const ms_pipeline_layout *p, uint64_t per_round, ms_pipeline_pass pass,
                      uint64_t n, writer *w)
{
    uint64_t turn = n / per_round, stage = turn % p->stages;
    add(w, pass, pass == MS_PIPELINE_FORWARD ? stage : p->stages - 1 - stage,
        turn / p->stages * per_round + n % per_round);
}

/* The same order for both; with two parts weights follow when as many inputs are ahead as there
 * are ranks before this one. */
static void write_interleaved(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    bool is_split = p->kind == MS_PIPELINE_INTERLEAVED_ZB;
    uint64_t rounds = p->micro_batches / p->ranks ? p->micro_batches / p->ranks : 1;
    uint64_t per_round = p->micro_batches / rounds, all = p->stages * p->micro_batches;
    uint64_t steps = is_split ? 1 : 2, waits = is_split ? rank : all, weights = 0;
    uint64_t ahead = least((p->stages - 1) * per_round + steps * (p->ranks - 1 - rank), all);
    for (uint64_t i = 0; i < ahead; i++)
        add_round(p, per_round, MS_PIPELINE_FORWARD, i, w);
    for (uint64_t i = 0; i < all; i++) {
        if (i + ahead < all)
            add_round(p, per_round, MS_PIPELINE_FORWARD, i + ahead, w);
        add_round(p, per_round, is_split ? MS_PIPELINE_INPUT : MS_PIPELINE_BACKWARD, i, w);
        if (i >= waits)
            add_round(p, per_round, MS_PIPELINE_WEIGHT, weights++, w);
    }
    while (is_split && weights < all)
        add_round(p, per_round, MS_PIPELINE_WEIGHT, weights++, w);
}

/* What ScheduleZBVZeroBubble counts: forwards, inputs and weights of both stages so far. */
typedef struct counts {
    uint64_t forward[2], input[2], weight[2];
} counts;

/* Of micro-batches that are there; the order is made for 2 p - 1 of them at least. */
static void add_counted(const ms_pipeline_layout *p, ms_pipeline_pass pass, uint64_t stage,
                        uint64_t *count, writer *w)
{
    if (*count < p->micro_batches)
        add(w, pass, stage, *count);
    ++*count;
}

static void add_both_parts(const ms_pipeline_layout *p, uint64_t stage, counts *c, writer *w)
{
    add_counted(p, MS_PIPELINE_INPUT, stage, &c->input[stage], w);
    add_counted(p, MS_PIPELINE_WEIGHT, stage, &c->weight[stage], w);
}

static void warm_up(const ms_pipeline_layout *p, uint64_t rank, counts *c, writer *w)
{
    for (uint64_t i = 0; i < 2 * (p->ranks - rank) - 1; i++)
        add_counted(p, MS_PIPELINE_FORWARD, 0, &c->forward[0], w);
    for (uint64_t i = 0; i < rank; i++) {
        add_counted(p, MS_PIPELINE_FORWARD, 1, &c->forward[1], w);
        add_counted(p, MS_PIPELINE_FORWARD, 0, &c->forward[0], w);
    }
    for (uint64_t i = 0; i < p->ranks - rank; i++) {
        add_counted(p, MS_PIPELINE_FORWARD, 1, &c->forward[1], w);
        add_both_parts(p, 1, c, w);
    }
}

static void cool_down(const ms_pipeline_layout *p, uint64_t rank, counts *c, writer *w)
{
    for (uint64_t i = 0; i < rank; i++)
        for (int stage = 0; stage < 2; stage++)
            add_counted(p, MS_PIPELINE_INPUT, (uint64_t)stage, &c->input[stage], w);
    for (uint64_t i = 0; i < p->ranks - rank; i++)
        add_both_parts(p, 0, c, w);
    for (int stage = 1; stage >= 0; stage--)
        while (c->weight[stage] < c->input[stage])
            add_counted(p, MS_PIPELINE_WEIGHT, (uint64_t)stage, &c->weight[stage], w);
}

static void write_zbv(const ms_pipeline_layout *p, uint64_t rank, writer *w)
{
    uint64_t least_count = 2 * p->ranks - 1;
    uint64_t count = p->micro_batches > least_count ? p->micro_batches : least_count;
    counts c = {{0}, {0}, {0}};
    warm_up(p, rank, &c, w);
    while (c.forward[1] < c.forward[0] || c.forward[0] < count) {
        if (c.forward[0] < count)
            add_counted(p, MS_PIPELINE_FORWARD, 0, &c.forward[0], w);
        add_both_parts(p, 0, &c, w);
        add_counted(p, MS_PIPELINE_FORWARD, 1, &c.forward[1], w);
        add_both_parts(p, 1, &c, w);
    }
    cool_down(p, rank, &c, w);
}

static void (*const writers[MS_PIPELINE_KINDS])(const ms_pipeline_layout *p, uint64_t rank,
                                                writer *w) = {
    [MS_PIPELINE_1F1B] = write_1f1b,
    [MS_PIPELINE_GPIPE] = write_gpipe,
    [MS_PIPELINE_INTERLEAVED] = write_interleaved,
    [MS_PIPELINE_LOOPED_BFS] = write_looped,
    [MS_PIPELINE_INTERLEAVED_ZB] = write_interleaved,
    [MS_PIPELINE_ZBV] = write_zbv,
};

void ms_pipeline_schedule(const ms_pipeline_layout *pipeline, uint64_t rank,
                          ms_pipeline_action *actions)
{
    writer w = {actions, 0};
    writers[pipeline->kind](pipeline, rank, &w);
}
