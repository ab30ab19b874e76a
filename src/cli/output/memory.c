/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan simulates dozens of steps with tables of similar size. By default glibc returns large
 * tables to the system each time, and clearing their pages again takes a fifth of a plan's time.
 */
#include "cli/output/memory.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

void ms_cli_keep_memory(void)
{
#ifdef __GLIBC__
    enum { LARGEST_KEPT = 32 << 20, MOST_KEPT = 1 << 30 };
    (void)mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT);
    (void)mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
#endif
}
