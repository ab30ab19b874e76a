/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_run: the fields that were set, checked one by one; ms_analyze resolves them.
 */
#ifndef MS_API_RUN_H
#define MS_API_RUN_H

#include "base/arena.h"
#include "base/vec.h"
#include "input/config/load/load.h"
#include "input/config/run/run_fields.h"
#include "memscope/memscope.h"

struct ms_run {
    ms_arena *arena;
    ms_run_draft draft; /* only to refuse invalid values at once */
    ms_vec(ms_run_setting) settings;
    ms_inputs *inputs; /* see ms_run_set_inputs */
    ms_watch *watch;   /* see ms_run_set_watch */
};

#endif
