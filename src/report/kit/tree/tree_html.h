/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_TREE_TREE_HTML_H
#define MS_REPORT_KIT_TREE_TREE_HTML_H

#include "report/kit/tree/tree.h"

/* Writes the tree as an HTML page in one file; the tree has a title and a verdict, and frees it.
 * False: out of memory. */
bool ms_tree_html(ms_tree *tree, FILE *out);

#endif
