/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Techniques that a planner may use, as bits. A treatment uses some of them.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_TECHNIQUE_H
#define MS_INPUT_CONFIG_TREATMENT_TECHNIQUE_H

typedef enum ms_technique {
    MS_MAY_CHECKPOINT = 1,
    MS_MAY_SELECT = 2,
    MS_MAY_OFFLOAD = 4,
    MS_MAY_TILE = 8,
    MS_MAY_CHUNK_LOSS = 16,
    MS_MAY_ALL = 31
} ms_technique;

#endif
