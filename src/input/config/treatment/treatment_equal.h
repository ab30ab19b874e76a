/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comparing treatments of layers.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_TREATMENT_EQUAL_H
#define MS_INPUT_CONFIG_TREATMENT_TREATMENT_EQUAL_H

#include "input/config/treatment/treatment.h"

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b);

#endif
