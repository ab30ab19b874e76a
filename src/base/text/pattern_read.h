/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parses a pattern into states, by the rules of its syntax.
 */
#ifndef MS_BASE_TEXT_PATTERN_READ_H
#define MS_BASE_TEXT_PATTERN_READ_H

#include "base/text/pattern_code.h"

typedef enum ms_pattern_syntax { MS_PATTERN_PYTHON, MS_PATTERN_ECMASCRIPT } ms_pattern_syntax;

/* Fills `code`, which the caller frees with ms_pattern_code_free, also after a failure. */
ms_status ms_pattern_read(const char *text, ms_pattern_syntax syntax, ms_pattern_code *code,
                          ms_error *err);
void ms_pattern_code_free(ms_pattern_code *code);

#endif
