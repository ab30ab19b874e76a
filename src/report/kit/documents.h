/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The documents whose members are rows (base/json/members.h), by the names of their schemas. An
 * X-macro, because tests compare each with its schema.
 */
#ifndef MS_REPORT_KIT_DOCUMENTS_H
#define MS_REPORT_KIT_DOCUMENTS_H

#include "base/json/members.h"

/* clang-format off */
#define MS_DOCUMENT_TABLES(X) \
    X("calibration", ms_calibration_document) \
    X("compare", ms_compare_document) \
    X("device_links", ms_links_document) \
    X("fit", ms_fit_document) \
    X("infer", ms_infer_document) \
    X("static_report", ms_report_document)
/* clang-format on */

extern const ms_members ms_stream_document; /* whose verdicts are never unknown */

#define MS_DOCUMENT_TABLE(schema, table) extern const ms_members table;
MS_DOCUMENT_TABLES(MS_DOCUMENT_TABLE)
#undef MS_DOCUMENT_TABLE

#endif
