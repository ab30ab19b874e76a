/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/markdown.h"

void ms_markdown_note(FILE *out, const char *label, const char *text)
{
    if (!text)
        return;
    fprintf(out, "\n- %s ", label);
    ms_markdown_text(out, text);
    fputc('\n', out);
}
