/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Configurations that come with ms-swift 4.6, which `deepspeed` and `fsdp` name: "zero2", "fsdp2".
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_SWIFT_CONFIGS_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_SWIFT_CONFIGS_H

#include "base/json/value.h"

/* The settings of the configuration that the value names, as JSON; NULL: it names none. */
const char *ms_training_swift_config(ms_json_value value);

#endif
