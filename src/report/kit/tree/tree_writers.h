/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The writers of a document that is a tree.
 */
#ifndef MS_REPORT_KIT_TREE_TREE_WRITERS_H
#define MS_REPORT_KIT_TREE_TREE_WRITERS_H

#include "report/kit/tree/tree_console.h"
#include "report/kit/tree/tree_html.h"
#include "report/kit/tree/tree_markdown.h"

/* Defines PREFIX_console, PREFIX_markdown and PREFIX_html, of the tree that `build` makes of a view
 * `v`, whose style is `style`. */
#define MS_TREE_WRITERS(prefix, view_type, build, style)                                           \
    bool prefix##_console(FILE *out, const view_type *v)                                           \
    {                                                                                              \
        ms_tree tree = build(v);                                                                   \
        return ms_tree_console(&tree, out, style);                                                 \
    }                                                                                              \
    bool prefix##_markdown(FILE *out, const view_type *v)                                          \
    {                                                                                              \
        ms_tree tree = build(v);                                                                   \
        return ms_tree_markdown(&tree, out);                                                       \
    }                                                                                              \
    bool prefix##_html(FILE *out, const view_type *v)                                              \
    {                                                                                              \
        ms_tree tree = build(v);                                                                   \
        return ms_tree_html(&tree, out);                                                           \
    }

#endif
