/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_RUNTIME_LEDGER_CONSOLE_H
#define MS_REPORT_RUNTIME_LEDGER_CONSOLE_H

#include "input/document/recorded.h"
#include "report/kit/page.h"

/* What a program without PyTorch holds, by what it is for and by device. */
void ms_ledger_console(const ms_recorded *r, const ms_page *page);

#endif
