/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_READ_REPORT_H
#define MS_API_READ_REPORT_H

#include "input/document/report.h"

#endif
