/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/image_tokens.h"

#include "torch/ops/ops.h"

void ms_image_video_masks(ms_model *model, ms_locals *f, ms_tensor ids, ms_tensor *image,
                          ms_tensor *video)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1};
    ms_tensor of_images = ms_compare(tape, ids, 0), of_videos;
    ms_retain(tape, of_images);
    of_videos = ms_compare(tape, ids, 0);
    ms_retain(tape, of_videos);
    ms_locals counts = ms_locals_begin(tape);
    ms_count_image_tokens(tape, &counts, of_images, true);
    ms_count_image_tokens(tape, &counts, of_videos, false);
    ms_locals_end(&counts, NULL);
    ms_shape shape = MS_SHAPE(model->batch, model->seq, one);
    ms_assign(f, image, ms_view(tape, ms_unown(tape, of_images), shape));
    ms_assign(f, video, ms_unown(tape, of_videos));
}
