/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/alibi.h"

ms_tensor *ms_alibi_slopes(ms_model *model, ms_locals *f)
{
    enum { FLOAT = 4, INT = 4 };
    ms_tape *tape = model->tape;
    uint64_t heads = model->heads.value, power = 1;
    while (2 * power <= heads)
        power *= 2;
    ms_local(f, ms_empty_bytes(tape, FLOAT, MS_DTYPE_F32));
    ms_local(f, ms_empty_bytes(tape, INT * power, MS_DTYPE_I32));
    ms_tensor *slopes = ms_local(f, ms_empty_bytes(tape, FLOAT * power, MS_DTYPE_F32));
    if (power == heads)
        return slopes;
    uint64_t rest = heads - power;
    ms_local(f, ms_empty_bytes(tape, FLOAT, MS_DTYPE_F32));
    ms_local(f, ms_empty_bytes(tape, INT * rest, MS_DTYPE_I32));
    ms_tensor more = ms_empty_bytes(tape, FLOAT * rest, MS_DTYPE_F32);
    ms_tensor all = ms_empty_bytes(tape, FLOAT * heads, MS_DTYPE_F32);
    ms_consume(tape, more);
    ms_assign(f, slopes, all);
    return slopes;
}
