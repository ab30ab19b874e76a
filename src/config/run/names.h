/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What options call the values of the enums of run_config.h, for parsers and reports. Each list is
 * in the order of its enum and ends with NULL. Those of attention, experts and the optimizer are in
 * headers of their own.
 */
#ifndef MS_CONFIG_RUN_NAMES_H
#define MS_CONFIG_RUN_NAMES_H

extern const char *const ms_autocast_names[];
extern const char *const ms_accumulation_names[];
extern const char *const ms_checkpoint_kind_names[];
extern const char *const ms_place_names[]; /* of ms_optimizer_device and ms_parameter_device */

#endif
