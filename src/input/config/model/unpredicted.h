/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of a run that are not predicted for a family, in ms_family.unpredicted;
 * resolve_family.c says so in sentences.
 */
#ifndef MS_INPUT_CONFIG_MODEL_UNPREDICTED_H
#define MS_INPUT_CONFIG_MODEL_UNPREDICTED_H

enum {
    MS_UNPREDICTED_HOST_PARAMETERS = 1 << 0,
    MS_UNPREDICTED_PACKED = 1 << 1, /* a quantised base */
    MS_UNPREDICTED_REENTRANT = 1 << 2,
    MS_UNPREDICTED_F16 = 1 << 3,
    MS_UNPREDICTED_FSDP1 = 1 << 4,  /* some parameters are never trained, and share flat ones */
    MS_UNPREDICTED_SHARDS = 1 << 5, /* FSDP and ZeRO: a layer's parameters have several types */
    MS_UNPREDICTED_RANKS = 1 << 6,  /* several GPUs */
    MS_UNPREDICTED_IMAGES_ON_RANKS = 1 << 7, /* see resolve_images.c */
    MS_UNPREDICTED_OTHER_PACKED = 1 << 8,    /* a quantised base that is not bitsandbytes's */
    MS_UNPREDICTED_F16_STEPS = 1 << 9,       /* of training; inference is predicted */
    MS_UNPREDICTED_PADDING = 1 << 10,        /* a batch with an attention mask */
    MS_UNPREDICTED_DOCUMENTS = 1 << 11       /* rows whose documents positions tell apart */
};

#endif
