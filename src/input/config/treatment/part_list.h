/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments of parts of a layer, one row each, in the order of the text of a treatment. An
 * X-macro, because the enum and the table must agree; the rows are in the files part_<name>.c.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_PART_LIST_H
#define MS_INPUT_CONFIG_TREATMENT_PART_LIST_H

/* constant, row */
#define MS_PART_LIST(X)                                                                            \
    X(CHECKPOINT_MLP, checkpoint_mlp)                                                              \
    X(CHECKPOINT_NORMS, checkpoint_norms)                                                          \
    X(TILE, tile)                                                                                  \
    X(TILE_ATTENTION, tile_attention)

#endif
