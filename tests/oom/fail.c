/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for sched_setaffinity */
#include "oom/fail.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static size_t armed, seen;
static bool happened;

/* Live blocks, an open-addressing set. With --wrap, blocks that libc made are not in it. */
enum { SLOTS = 1 << 16 };
static const void *slots[SLOTS];
static size_t live;
#define GONE ((const void *)&live)

static size_t slot_of(const void *block)
{
    return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 48;
}

void *fail_note(void *block)
{
    size_t i = slot_of(block);
    if (!block)
        return block;
    if (live == SLOTS / 2) {
        fputs("fail.c: too many live blocks\n", stderr);
        abort();
    }
    while (slots[i] && slots[i] != GONE)
        i = (i + 1) % SLOTS;
    slots[i] = block;
    live++;
    return block;
}

void fail_forget(const void *block)
{
    size_t i = slot_of(block);
    for (size_t steps = 0; slots[i] && steps < SLOTS; steps++, i = (i + 1) % SLOTS) {
        if (slots[i] == block) {
            slots[i] = GONE;
            live--;
            return;
        }
    }
}

bool fail_now(void)
{
    seen++;
    if (armed == 0 || seen != armed)
        return false;
    happened = true;
    errno = ENOMEM;
    return true;
}

void fail_arm(size_t n)
{
    armed = n;
    seen = 0;
    happened = false;
}

bool fail_happened(void)
{
    return happened;
}

size_t fail_count(void)
{
    return seen;
}

size_t fail_live_blocks(void)
{
    return live;
}

void fail_on_one_processor(void)
{
    cpu_set_t set, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        abort();
    size_t i = 0;
    while (!CPU_ISSET(i, &set))
        i++;
    CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        abort();
}
