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

void ms_forward_with_features(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out,
                              ms_run_features run)
{
    ms_decoder *d = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor features = 0;
    ms_tensor *hidden = ms_local(&f, run(model, d, in->ids, &features));
    ms_tensor *loss = ms_head_call(model, &f, &d->head, *hidden, in, out);
    if (!in->labels)
        out->auxiliary = ms_hand_out(model->tape, features);
    ms_local(&f, ms_unown(model->tape, features));
    ms_forward_end(&f, loss, out);
}
