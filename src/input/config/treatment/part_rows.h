/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of part_list.h, each in the file part_<name>.c.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_PART_ROWS_H
#define MS_INPUT_CONFIG_TREATMENT_PART_ROWS_H

#include "input/config/treatment/row.h"

#define MS_PART_ROW(constant, name) extern const ms_part_row ms_part_##name;
MS_PART_LIST(MS_PART_ROW)

#endif
