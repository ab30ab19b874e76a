/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What there is at each point of the timeline: the operator, its layer, and the largest tensors
 * that come and go.
 */
#ifndef MS_DECIDE_LEDGER_ALIVE_H
#define MS_DECIDE_LEDGER_ALIVE_H

#include "decide/ledger/ledger.h"

enum { MS_ALIVE_TENSORS = 4 };

typedef struct ms_alive_point {
    uint32_t op;    /* that runs, or that ran last in this step; MS_NONE: none has yet */
    uint32_t layer; /* of its module; MS_NONE: outside the layers */
    /* The largest that come and go within a step: gradients, inputs, activations, temporaries,
     * workspaces; in block bytes. Equal tensors of layers share a row. */
    ms_peak_tensor tensors[MS_ALIVE_TENSORS];
    uint32_t tensor_count;
} ms_alive_point;

typedef ms_vec(ms_alive_point) ms_alive_points;

/* Appends one for each point of the ledger's timeline; the caller frees them with ms_vec_free, also
 * after a failure. */
ms_status ms_alive_follow(const ms_ledger *ledger, ms_alive_points *points, ms_error *err);

#endif
