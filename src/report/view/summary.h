/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The members of a summary; those with titles are counts, which reports for people show, the host's
 * last.
 */
#ifndef MS_REPORT_VIEW_SUMMARY_H
#define MS_REPORT_VIEW_SUMMARY_H

#include "base/json/members.h"
#include "memscope/memscope.h"

extern const ms_members ms_summary_table;

#endif
