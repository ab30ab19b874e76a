/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table whose columns have fixed widths, but for one that has what the page leaves.
 */
#ifndef MS_REPORT_KIT_TREE_FIXED_TABLE_H
#define MS_REPORT_KIT_TREE_FIXED_TABLE_H

#include "report/kit/tree/tree.h"

void ms_fixed_table_console(const ms_page *page, const ms_tree_table *table);

#endif
