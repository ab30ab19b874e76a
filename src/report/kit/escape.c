/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/escape.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

static const ms_escape entities[] = {{'&', "&amp;"},  {'<', "&lt;"},   {'>', "&gt;"},
                                     {'"', "&quot;"}, {'\'', "&#39;"}, {'\0', NULL}};

void ms_xml_text(FILE *out, const char *text)
{
    ms_put_escaped(out, text, text, text + strlen(text), entities);
}

void ms_xml_lines(FILE *out, const char *text)
{
    for (;;) {
        const char *end = text + strcspn(text, "\n");
        ms_put_escaped(out, text, text, end, entities);
        if (!*end)
            return;
        fputc('\n', out);
        text = end + 1;
    }
}

/* ---- Markdown ---- */

/* What no backslash can take the meaning from, as programs look for it in the text that readers
 * see, is cut in two by a comment. */
static const char cut[] = "<!-- -->";

/* Whether the character begins a block where the text begins a line: a heading, a list, a rule. */
static bool begins_block(const char *text, const char *at)
{
    size_t digits = strspn(text, "0123456789");
    if (*at == '.' || *at == ')')
        return digits > 0 && at == text + digits && at[1] == ' ';
    return at == text && (*at == '>' || (strchr("#+-=:", *at) && (at[1] == ' ' || at[1] == *at)));
}

/* Whether the character is a part of what GitHub makes a link of by itself. */
static bool is_in_address(const char *text, const char *at)
{
    return (*at == '/' && at > text && at[-1] == ':') ||
           (*at == '.' && at - text >= 3 && strncasecmp(at - 3, "www", 3) == 0);
}

void ms_markdown_text(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    for (const char *at = text; at < end;) {
        ms_shown shown = ms_show(text, at, end);
        if (!shown.is_unchanged) {
            fprintf(out, "\\%s", shown.text); /* it begins with a backslash */
        } else if (*at == ' ' && at == text) {
            fputs("&#32;", out); /* four of them would begin a block of code */
        } else {
            if (strchr("\\`*_[]<|~$&", *at) || begins_block(text, at) || is_in_address(text, at))
                fputc('\\', out);
            fwrite(at, 1, shown.bytes, out);
        }
        if (*at == '@' || (*at == '#' && isdigit((unsigned char)at[1])))
            fputs(cut, out);
        at += shown.bytes;
    }
}
