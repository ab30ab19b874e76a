/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_INFER_ROWS_TREE_H
#define MS_REPORT_INFER_ROWS_TREE_H

#include "report/infer/rows_view.h"
#include "report/kit/tree/tree.h"

/* A table in place of an answer. */
ms_tree ms_infer_rows_tree(const ms_infer_view *view);

#endif
