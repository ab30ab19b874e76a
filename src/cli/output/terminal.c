/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_COLUMNS = 80, MOST_COLUMNS = 1000 };

uint32_t ms_cli_columns(void)
{
    const char *text = getenv("COLUMNS");
    long asked = text ? strtol(text, NULL, 10) : 0;
    if (asked > 0)
        return asked < MOST_COLUMNS ? (uint32_t)asked : MOST_COLUMNS;
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

const char *ms_cli_color_name(size_t index)
{
    static const char *const names[] = {
        [MS_COLOR_AUTO] = "auto", [MS_COLOR_ALWAYS] = "always", [MS_COLOR_NEVER] = "never"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

static bool wants_color(ms_cli_color color)
{
    if (color != MS_COLOR_AUTO)
        return color == MS_COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(STDOUT_FILENO) == 1;
}

/* The locale's name says it; loading the locale for one question would take memory for good. */
static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *locale = getenv(names[i]);
        if (!locale || !*locale)
            continue;
        const char *codeset = strchr(locale, '.');
        return codeset && (strncasecmp(codeset + 1, "utf-8", 5) == 0 ||
                           strncasecmp(codeset + 1, "utf8", 4) == 0);
    }
    return false;
}

ms_style ms_cli_style(ms_cli_color color)
{
    uint32_t columns = ms_cli_columns();
    return (ms_style){.columns = columns ? columns : DEFAULT_COLUMNS,
                      .color = wants_color(color),
                      .unicode = has_utf8()};
}
