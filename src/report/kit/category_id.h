/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_CATEGORY_ID_H
#define MS_REPORT_KIT_CATEGORY_ID_H

#include <stdint.h>

/* "activation", "optimizer_state": a category's name in JSON, and as a class in pictures. */
const char *ms_json_category(uint8_t category);

#endif
