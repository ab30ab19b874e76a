/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_TREE_TREE_CONSOLE_H
#define MS_REPORT_KIT_TREE_TREE_CONSOLE_H

#include "report/kit/tree/tree.h"

/* Writes the tree as console text, and frees it. False: out of memory. */
bool ms_tree_console(ms_tree *tree, FILE *out, const ms_style *style);

#endif
