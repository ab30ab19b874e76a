/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of values that only options of a run have, and the type of the member of each.
 */
#ifndef MS_INPUT_CONFIG_RUN_RUN_KINDS_H
#define MS_INPUT_CONFIG_RUN_RUN_KINDS_H

#include "input/config/fields/kinds.h"

extern const ms_config_kind ms_config_kind_type;    /* an enum; explains why fp8 is not a choice */
extern const ms_config_kind ms_config_kind_version; /* uint32_t[2]: major, minor */
extern const ms_config_kind ms_config_kind_layers;  /* const char *, a list of layers */
extern const ms_config_kind ms_config_kind_treat;   /* const char *, treatments */
extern const ms_config_kind ms_config_kind_liger;   /* uint64_t, bits of ms_liger */
extern const ms_config_kind ms_config_kind_lora;    /* const char *, an adapter */
extern const ms_config_kind ms_config_kind_launch;  /* const char *, a command */
extern const ms_config_kind ms_config_kind_attention; /* ms_attention */
extern const ms_config_kind ms_config_kind_quantize;  /* ms_quantization */
extern const ms_config_kind ms_config_kind_layout;    /* ms_layout */
extern const ms_config_kind ms_config_kind_sides;     /* uint64_t[2]: width and height */
extern const ms_config_kind ms_config_kind_rank;      /* ms_rank_choice */

#endif
