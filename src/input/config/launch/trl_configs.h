/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * accelerate's configurations that come with TRL 1.16, which `accelerate_config` names: "zero3".
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_TRL_CONFIGS_H
#define MS_INPUT_CONFIG_LAUNCH_TRL_CONFIGS_H

/* As JSON; NULL: there is none of that name. */
const char *ms_trl_config(const char *name);
/* "fsdp1, ... and zero3". */
const char *ms_trl_config_names(void);

#endif
