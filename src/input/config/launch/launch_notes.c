/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch_notes.h"

#include <string.h>

ms_status ms_launch_note_uncounted(const ms_launch *l)
{
    static const char *const alone[] = {"trl", "llamafactory-cli", "lmf", "axolotl"};
    bool is_uncounted = l->is_uncounted;
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        is_uncounted |= l->processes == 0 && strcmp(l->command, alone[i]) == 0;
    if (!is_uncounted || l->file_count > 1)
        return MS_OK;
    return ms_note_add(l->notes, l->arena, l->err,
                       "the launch does not say how many processes it starts: one is predicted, "
                       "unless --world, --parallel or a file of accelerate's say otherwise");
}

ms_status ms_launch_note_devices(const ms_launch *l)
{
    if (l->processes > 1 || ms_shell_find(&l->shell, "CUDA_VISIBLE_DEVICES"))
        return MS_OK;
    return ms_note_add(l->notes, l->arena, l->err,
                       "one device is predicted: where a process of ms-swift sees several, it puts "
                       "parts of the layers on each (NPROC_PER_NODE, CUDA_VISIBLE_DEVICES)");
}
