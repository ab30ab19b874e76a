/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies between host and devices.
 */
#include "hardware/nulldevice/copies.h"

#include <string.h>

#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

/* What the calling thread's next copy of that many bytes to the host returns. */
static _Thread_local struct {
    uint64_t bytes; /* 0: nothing */
    char data[64];
} answer;

MS_NULL_CALL(void, memscope_null_answer, (const void *data, uint64_t bytes))
{
    answer.bytes = bytes <= sizeof answer.data ? bytes : 0;
    if (answer.bytes > 0)
        memcpy(answer.data, data, answer.bytes);
}

static bool take_answer(void *to, uint64_t bytes)
{
    if (answer.bytes == 0 || answer.bytes != bytes)
        return false;
    memcpy(to, answer.data, bytes);
    answer.bytes = 0;
    return true;
}

/* Large buffers stay untouched: they would cost host memory, and no decision depends on them. */
static void copy_out(void *to, const void *from, uint64_t bytes)
{
    if (take_answer(to, bytes))
        return; /* the caller knows of it */
    bool is_known = ms_null_recall(to, from, bytes);
    if (!is_known && bytes <= MS_NULL_REMEMBERED_BYTES)
        memset(to, 0, bytes);
    if (ms_null_listening()->read)
        ms_null_listening()->read(from, bytes, is_known);
}

static bool is_managed(const void *to, const void *from)
{
    return ms_null_manager_of(to) >= 0 || ms_null_manager_of(from) >= 0;
}

void ms_null_copy(void *to, const void *from, uint64_t bytes)
{
    bool to_device = ms_null_device_of(to) >= 0, from_device = ms_null_device_of(from) >= 0;
    if (to_device && from_device) {
        ms_null_remember_copy(to, from, bytes);
    } else if (to_device) {
        ms_null_remember(to, from, bytes);
    } else if (from_device) {
        copy_out(to, from, bytes);
    } else if (bytes <= MS_NULL_REMEMBERED_BYTES || !is_managed(to, from)) {
        memmove(to, from, bytes);
    }
}

/* Counters are often filled before a kernel counts in them: what was filled is not remembered. */
void ms_null_fill(void *to, int value, uint64_t bytes)
{
    if (ms_null_device_of(to) >= 0)
        ms_null_forget(to, bytes);
    else if (bytes <= MS_NULL_REMEMBERED_BYTES || !is_managed(to, to))
        memset(to, value, bytes);
}
