/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Vision towers of models whose text runs alone.
 */
#include "input/config/model/model_config.h"
#include "model/evaluator/evaluate.h"

/* The family's row has what builds it. */
static void make_vision_tower(const ms_making *m)
{
    const ms_family *family = m->model->config->family;
    ms_frame f = {.model = m->model, .self = m->self};
    if (!family->build_tower)
        ms_frame_fail(&f, m->call, "memscope knows no tower of this family");
    else if (!family->build_tower(m->model, m->scope))
        ms_tape_fail(m->model->tape, MS_ERR_NOMEM);
}

static void call_tower(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    (void)a;
    r->items[0] = 0;
    ms_frame_fail(f, p->maker, "this tower is built, and does not run");
}

static const ms_primitive rows[] = {
    {.name = "vision_tower",
     .parameters = "",
     .types = "",
     .results = 1,
     .make = make_vision_tower,
     .call = call_tower,
     .call_types = "t"},
};

const ms_primitive_list ms_tower_rows = {rows, sizeof rows / sizeof *rows};
