/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/run_config.h"

#include <stddef.h>

const char *const ms_autocast_names[] = {
    [MS_AUTOCAST_NONE] = "none",
    [MS_AUTOCAST_BF16] = "bf16",
    [MS_AUTOCAST_F16] = "fp16",
    NULL,
};

const char *const ms_accumulation_names[] = {
    [MS_ACCUMULATE_SAME] = "same",
    [MS_ACCUMULATE_F32] = "fp32",
    NULL,
};

const char *const ms_checkpoint_kind_names[] = {
    [MS_CHECKPOINT_NON_REENTRANT] = "non-reentrant",
    [MS_CHECKPOINT_REENTRANT] = "reentrant",
    NULL,
};

const char *const ms_padding_names[] = {
    [MS_PADDING_NO] = "no",
    [MS_PADDING_ONES] = "ones",
    [MS_PADDING_YES] = "yes",
    [MS_PADDING_UNKNOWN] = "unknown",
    NULL,
};

const char *const ms_loss_names[] = {
    [MS_LOSS_MODEL] = "model",
    [MS_LOSS_TRL] = "trl",
    [MS_LOSS_CUT] = "cut-cross-entropy",
    [MS_LOSS_TORCHTUNE] = "torchtune",
    NULL,
};

const char *const ms_loop_names[] = {
    [MS_LOOP_FIXED] = "fixed",
    [MS_LOOP_LOADER] = "loader",
    [MS_LOOP_TRAINER] = "trainer",
    NULL,
};

const char *const ms_place_names[] = {
    [MS_OPTIMIZER_ON_DEVICE] = "device",
    [MS_OPTIMIZER_ON_HOST] = "host",
    NULL,
};
_Static_assert((int)MS_OPTIMIZER_ON_HOST == (int)MS_PARAMETERS_ON_HOST, "one list for both");
