/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/treatments/parts.h"

#include "torch/treatments/recompute.h"
#include "torch/treatments/tile.h"

static ms_tensor run_tiles(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *whole = ms_argument(&f, input);
    ms_tensor *out = ms_local(&f, ms_tiled_run(tape, region, *whole, pieces));
    return ms_locals_end(&f, out);
}

ms_tensor ms_part_call(ms_tape *tape, const ms_treatment *treatment, ms_part_module module,
                       const ms_region *region, ms_tensor input)
{
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        if (treatment->parts[i] && row->module == module)
            return row->has_pieces ? run_tiles(tape, region, input, treatment->parts[i])
                                   : ms_checkpoint_run(tape, region, input);
    }
    return region->run(tape, region->context, region->number, input);
}
