/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/output.h"

#include <errno.h>
#include <string.h>

ms_status ms_output_finish(FILE *out, const char *what, ms_error *err)
{
    if (fflush(out) == 0 && !ferror(out))
        return MS_OK;
    return ms_fail(err, errno == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot write %s: %s", what,
                   errno ? strerror(errno) : "the output failed");
}

bool ms_output_close_text(FILE *out, char *const *text)
{
    bool has_failed = !out || fflush(out) != 0 || ferror(out);
    return out && fclose(out) == 0 && !has_failed && *text;
}
