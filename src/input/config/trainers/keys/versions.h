/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The versions of the frameworks whose rules a trainer's file is read by.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_VERSIONS_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_VERSIONS_H

#include "input/config/trainers/training_reading.h"

/* Frameworks that have a rule which differs by version, and which --assume-version names. */
typedef enum ms_framework { MS_FRAMEWORK_TRANSFORMERS, MS_FRAMEWORK_ACCELERATE } ms_framework;

/* Checks the list of --assume-version: "transformers=4.57,accelerate=1.10". */
ms_status ms_training_check_versions(ms_training_reading *r);
/* Whether the file is read as of a version before that one. */
bool ms_training_is_before(const ms_training_reading *r, ms_framework framework, uint32_t major,
                           uint32_t minor);
/* Tells the versions that the file was read by: r->keys->versions. Called once everything has been
 * read. */
ms_status ms_training_tell_versions(ms_training_reading *r);

#endif
