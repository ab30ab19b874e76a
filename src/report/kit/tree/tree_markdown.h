/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_TREE_TREE_MARKDOWN_H
#define MS_REPORT_KIT_TREE_TREE_MARKDOWN_H

#include "report/kit/tree/tree.h"

/* Writes the tree as Markdown, and frees it. False: out of memory. */
bool ms_tree_markdown(ms_tree *tree, FILE *out);

#endif
