/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys and defaults were read in accelerate 1.15, torchtitan's TOML files, torchtune 0.6 and
 * DeepSpeed 0.19; src/input/config/trainers reads them back.
 */
#include "decide/plan/trainers/ranks_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"

/* ---- writing ---- */

typedef struct writer {
    ms_arena *arena;
    const ms_run_config *run;
    const ms_parallel *parallel;
    const char *text; /* NULL: out of memory */
    const char
        *options; /* those that the trainer needs otherwise, " --no-sync yes"; NULL: the same */
} writer;

static writer begin(ms_arena *arena, const ms_run_config *run)
{
    return (writer){arena, run, &run->parallel, "", ""};
}

__attribute__((format(printf, 2, 3))) static void line(writer *w, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    if (w->text)
        w->text = ms_arena_printf(w->arena, "%s%s%s", w->text, *w->text ? "\n" : "", text);
}

/* What the trainer does whatever its file says; the option asks for the same. */
static void expect(writer *w, bool is_so, const char *option)
{
    if (!is_so && w->options)
        w->options = ms_arena_printf(w->arena, "%s %s", w->options, option);
}

static const char *truth(bool is_so)
{
    return is_so ? "true" : "false";
}

static ms_status end(const writer *w, const char *trainer, const char **text, ms_error *err)
{
    if (!w->text || !w->options)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a trainer's text");
    if (*w->options)
        return ms_fail(err, MS_ERR_USAGE, "%s shares a run among ranks in its own way: plan with%s",
                       trainer, w->options);
    *text = w->text;
    return MS_OK;
}

/* ---- what trainers have in common ---- */

static ms_status refuse(const ms_run_config *run, const char *trainer, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE, "no file of %s can state %s", trainer,
                   ms_layout_name(&run->parallel.layout));
}

static bool is_plain(const ms_layout *layout, ms_parallel_kind kind)
{
    return layout->kind == kind && layout->tensor == 1 && layout->context <= 1;
}

static bool syncs_always(const ms_run_config *run)
{
    return run->training.accumulate == 1 || !run->parallel.syncs_last_only;
}

static bool syncs_at_last(const ms_run_config *run)
{
    return run->training.accumulate == 1 || run->parallel.syncs_last_only;
}

static bool has_one_type(const ms_parallel *p)
{
    return p->param_dtype == p->shard_dtype && p->reduce_dtype == p->param_dtype &&
           p->load_dtype == p->shard_dtype;
}

/* What only options of memscope say of fully_shard. */
static void expect_usual_shards(writer *w)
{
    const ms_parallel *p = w->parallel;
    expect(w, p->reshard_ranks == 0, "--reshard-ranks 0");
    expect(w, !p->reshards_root, "--reshard-root no");
    expect(w, !p->keeps_after_backward, "--reshard-after-backward yes");
    expect(w, w->run->training.accumulate == 1 || !p->sums_last_only, "--no-all-reduce no");
}

static void expect_usual_buckets(writer *w)
{
    const ms_parallel *p = w->parallel;
    expect(w, p->bucket_cap_mb == 0, "--bucket-cap-mb 0");
    expect(w, !p->has_bucket_views, "--gradient-as-bucket-view no");
    expect(w, !p->has_static_graph, "--static-graph no");
    expect(w, !p->finds_unused, "--find-unused-parameters no");
    expect(w, p->has_init_sync, "--init-sync yes");
    expect(w, !p->has_zero_optimizer, "--zero-optimizer no");
}

/* ---- accelerate ---- */

static void accelerate_types(writer *w)
{
    const ms_parallel *p = w->parallel;
    const bool is_mixed = p->layout.kind == MS_PARALLEL_FSDP2 && !has_one_type(p);
    const bool casts = p->layout.kind == MS_PARALLEL_DDP && w->run->autocast == MS_AUTOCAST_BF16;
    if (is_mixed) {
        expect(w, p->shard_dtype == MS_DTYPE_F32 && !w->run->adapter, "--dtype fp32");
        expect(w, p->param_dtype == MS_DTYPE_BF16, "--param-dtype bf16");
        expect(w, p->reduce_dtype == MS_DTYPE_BF16, "--reduce-dtype bf16");
    } else if (p->layout.kind == MS_PARALLEL_FSDP1) {
        expect(w, has_one_type(p) && w->run->autocast == MS_AUTOCAST_NONE,
               "one type of weights and no autocast");
    } else {
        expect(w, casts || w->run->autocast == MS_AUTOCAST_NONE, "--autocast none");
    }
    line(w, "mixed_precision: '%s'", is_mixed || casts ? "bf16" : "no");
}

static void accelerate_first(writer *w)
{
    static const char *const prefetches[] = {[MS_PREFETCH_PRE] = "BACKWARD_PRE",
                                             [MS_PREFETCH_POST] = "BACKWARD_POST",
                                             [MS_PREFETCH_NONE] = "NO_PREFETCH"};
    const ms_parallel *p = w->parallel;
    const char *whole = p->layout.copies > 1 ? "HYBRID_SHARD" : "FULL_SHARD",
               *kept = p->layout.copies > 1 ? "HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP";
    expect(w, p->build == MS_BUILD_META, "--build meta");
    line(w, "  fsdp_version: 1");
    line(w, "  fsdp_sharding_strategy: %s", p->keeps_unsharded ? kept : whole);
    line(w, "  fsdp_backward_prefetch: %s", prefetches[p->backward_prefetch]);
    line(w, "  fsdp_forward_prefetch: %s", truth(p->prefetches_forward));
    line(w, "  fsdp_use_orig_params: %s", truth(!p->has_flat_parameters));
    if (!p->limits_all_gathers)
        line(w, "  fsdp_limit_all_gathers: false");
}

static void accelerate_second(writer *w)
{
    const ms_parallel *p = w->parallel;
    expect(w, p->units == MS_UNITS_ACCELERATE, "--fsdp-units accelerate");
    expect(w, p->build == MS_BUILD_HOST || p->build == MS_BUILD_BROADCAST, "--build broadcast");
    expect_usual_shards(w);
    line(w, "  fsdp_version: 2");
    line(w, "  fsdp_reshard_after_forward: %s", truth(!p->keeps_unsharded));
    line(w, "  fsdp_cpu_ram_efficient_loading: %s", truth(p->build == MS_BUILD_BROADCAST));
    if (p->offloads)
        line(w, "  fsdp_offload_params: true");
}

ms_status ms_ranks_accelerate(MS_RANKS_ARGUMENTS)
{
    const ms_layout *layout = &run->parallel.layout;
    const bool is_ddp = layout->kind == MS_PARALLEL_DDP,
               is_first = layout->kind == MS_PARALLEL_FSDP1;
    writer w = begin(arena, run);
    (void)checkpoints; /* TrainingArguments say so */
    if (!is_ddp && !is_first && !is_plain(layout, MS_PARALLEL_FSDP2))
        return refuse(run, "accelerate", err);
    expect(&w, syncs_at_last(run), "--no-sync yes");
    if (is_ddp)
        expect_usual_buckets(&w);
    line(&w, "# accelerate.yaml, for accelerate launch --config_file");
    line(&w, "distributed_type: %s", is_ddp ? "MULTI_GPU" : "FSDP");
    line(&w, "num_processes: %" PRIu64, ms_layout_world(layout));
    if (is_first && layout->copies > 1)
        line(&w, "num_machines: %" PRIu64, layout->copies);
    accelerate_types(&w);
    if (!is_ddp) {
        line(&w, "fsdp_config:");
        line(&w, "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP");
        (is_first ? accelerate_first : accelerate_second)(&w);
    }
    if (!is_ddp && !is_first && layout->copies > 1) {
        line(&w, "parallelism_config:");
        line(&w, "  parallelism_config_dp_replicate_size: %" PRIu64, layout->copies);
        line(&w, "  parallelism_config_dp_shard_size: %" PRIu64, layout->shards);
    }
    return end(&w, "accelerate", text, err);
}

/* ---- torchtitan ---- */

static const char *long_name(ms_dtype dtype)
{
    return dtype == MS_DTYPE_F32 ? "float32" : "bfloat16";
}

static bool is_titan_type(ms_dtype dtype)
{
    return dtype == MS_DTYPE_F32 || dtype == MS_DTYPE_BF16;
}

ms_status ms_ranks_torchtitan(MS_RANKS_ARGUMENTS)
{
    const ms_parallel *p = &run->parallel;
    const ms_training *training = &run->training;
    static const char *const implementations[] = {[MS_OPTIMIZER_FUSED] = "fused",
                                                  [MS_OPTIMIZER_FOREACH] = "foreach",
                                                  [MS_OPTIMIZER_LOOP] = "for-loop"};
    writer w = begin(arena, run);
    if (!is_plain(&p->layout, MS_PARALLEL_FSDP2))
        return refuse(run, "torchtitan", err);
    bool is_known =
        training->optimizer == MS_OPTIMIZER_ADAMW || training->optimizer == MS_OPTIMIZER_ADAM;
    expect(&w, p->units == MS_UNITS_TORCHTITAN, "--fsdp-units torchtitan");
    expect(&w, p->build == MS_BUILD_META, "--build meta");
    expect(&w, is_titan_type(p->shard_dtype), "--dtype bf16");
    expect(&w, is_titan_type(p->param_dtype), "--param-dtype bf16");
    expect(&w, is_titan_type(p->reduce_dtype), "--reduce-dtype fp32");
    expect(&w, syncs_always(run), "--no-sync no");
    expect(&w, is_known, "--optimizer adamw");
    expect_usual_shards(&w);
    line(&w, "# train.toml, for CONFIG_FILE of torchtitan's run_train.sh");
    line(&w, "[training]");
    line(&w, "local_batch_size = %" PRIu64, run->batch);
    line(&w, "global_batch_size = %" PRIu64,
         run->batch * training->accumulate * ms_layout_world(&p->layout));
    line(&w, "seq_len = %" PRIu64, run->seq_tokens);
    line(&w, "dtype = \"%s\"", long_name(p->shard_dtype));
    line(&w, "mixed_precision_param = \"%s\"", long_name(p->param_dtype));
    line(&w, "mixed_precision_reduce = \"%s\"", long_name(p->reduce_dtype));
    if (p->offloads)
        line(&w, "enable_cpu_offload = true");
    line(&w, "[parallelism]");
    line(&w, "data_parallel_replicate_degree = %" PRIu64, p->layout.copies);
    line(&w, "data_parallel_shard_degree = %" PRIu64, p->layout.shards);
    line(&w, "fsdp_reshard_after_forward = \"%s\"", p->keeps_unsharded ? "never" : "default");
    line(&w, "[activation_checkpoint]");
    line(&w, "mode = \"%s\"", checkpoints ? "full" : "none");
    line(&w, "[optimizer]");
    line(&w, "name = \"%s\"", training->optimizer == MS_OPTIMIZER_ADAM ? "Adam" : "AdamW");
    line(&w, "implementation = \"%s\"", implementations[training->optimizer_impl]);
    return end(&w, "torchtitan", text, err);
}

/* ---- torchtune ---- */

ms_status ms_ranks_torchtune(MS_RANKS_ARGUMENTS)
{
    const ms_parallel *p = &run->parallel;
    writer w = begin(arena, run);
    (void)checkpoints; /* the plan's own keys say so */
    if (!is_plain(&p->layout, MS_PARALLEL_FSDP2))
        return refuse(run, "torchtune", err);
    expect(&w, p->units == MS_UNITS_LAYERS, "--fsdp-units layers");
    expect(&w, p->build == MS_BUILD_META, "--build meta");
    expect(&w, has_one_type(p), "one type of weights, --dtype bf16");
    expect(&w, syncs_always(run), "--no-sync no");
    expect_usual_shards(&w);
    line(&w, "# torchtune.yaml, of a distributed recipe on %" PRIu64 " devices",
         ms_layout_world(&p->layout));
    line(&w, "dtype: %s", ms_dtype_weight_names[p->shard_dtype]);
    line(&w, "data_parallel_replicate_dim: %" PRIu64, p->layout.copies);
    line(&w, "data_parallel_shard_dim: %" PRIu64, p->layout.shards);
    line(&w, "fsdp_reshard_after_forward: %s", truth(!p->keeps_unsharded));
    line(&w, "fsdp_cpu_offload: %s", truth(p->offloads));
    return end(&w, "torchtune", text, err);
}

/* ---- DeepSpeed ---- */

ms_status ms_ranks_deepspeed(MS_RANKS_ARGUMENTS)
{
    const ms_parallel *p = &run->parallel;
    const ms_zero *zero = &p->zero;
    writer w = begin(arena, run);
    char clip[32];
    (void)checkpoints; /* the plan's code does so */
    if (p->layout.kind != MS_PARALLEL_ZERO)
        return refuse(run, "DeepSpeed", err);
    expect(&w, run->dtype == MS_DTYPE_BF16, "--dtype bf16");
    line(&w, "# ds_config.json, for deepspeed --num_gpus %" PRIu64, ms_layout_world(&p->layout));
    line(&w, "{");
    line(&w, "  \"train_micro_batch_size_per_gpu\": %" PRIu64 ",", run->batch);
    line(&w, "  \"gradient_accumulation_steps\": %" PRIu64 ",", run->training.accumulate);
    ms_text_print(clip, sizeof clip, "%.9g", run->training.clip ? run->training.clip_norm : 0.0);
    line(&w, "  \"gradient_clipping\": %s,", clip);
    line(&w, "  \"bf16\": {\"enabled\": true},");
    if (zero->accumulates_f32)
        line(&w, "  \"data_types\": {\"grad_accum_dtype\": \"fp32\"},");
    line(&w, "  \"zero_optimization\": {");
    line(&w, "    \"stage\": %" PRIu32 ",", p->layout.stage);
    if (zero->offloads_optimizer)
        line(&w, "    \"offload_optimizer\": {\"device\": \"cpu\"},");
    line(&w, "    \"reduce_bucket_size\": %" PRIu64 ",", zero->reduce_bucket_size);
    line(&w, "    \"overlap_comm\": %s,", truth(zero->overlap_comm));
    line(&w, "    \"contiguous_gradients\": %s", truth(zero->contiguous_gradients));
    line(&w, "  }");
    line(&w, "}");
    return end(&w, "DeepSpeed", text, err);
}

/* ---- PyTorch ---- */

static const char *torch_name(ms_dtype dtype)
{
    return dtype == MS_DTYPE_F16   ? "torch.float16"
           : dtype == MS_DTYPE_F32 ? "torch.float32"
                                   : "torch.bfloat16";
}

static void write_ddp(writer *w)
{
    const ms_parallel *p = w->parallel;
    expect(w, !p->has_zero_optimizer, "--zero-optimizer no");
    line(w, "model = torch.nn.parallel.DistributedDataParallel(");
    char cap[32] = "None";
    if (p->bucket_cap_mb > 0)
        snprintf(cap, sizeof cap, "%" PRIu64, p->bucket_cap_mb);
    line(w, "    model, bucket_cap_mb=%s, gradient_as_bucket_view=%s, static_graph=%s,", cap,
         p->has_bucket_views ? "True" : "False", p->has_static_graph ? "True" : "False");
    line(w, "    find_unused_parameters=%s, init_sync=%s)", p->finds_unused ? "True" : "False",
         p->has_init_sync ? "True" : "False");
}

static void write_fully_shard(writer *w)
{
    const ms_parallel *p = w->parallel;
    expect(w, p->units == MS_UNITS_LAYERS, "--fsdp-units layers");
    line(w, "from torch.distributed.device_mesh import init_device_mesh");
    line(w, "from torch.distributed.fsdp import %sMixedPrecisionPolicy, fully_shard",
         p->offloads ? "CPUOffloadPolicy, " : "");
    line(w, "%s", "");
    line(w, "options = dict(");
    if (p->layout.copies > 1)
        line(w,
             "    mesh=init_device_mesh(\"cuda\", (%" PRIu64 ", %" PRIu64
             "), mesh_dim_names=(\"copies\", \"shards\")),",
             p->layout.copies, p->layout.shards);
    else
        line(w, "    mesh=init_device_mesh(\"cuda\", (%" PRIu64 ",)),", p->layout.shards);
    if (p->reshard_ranks)
        line(w, "    reshard_after_forward=%" PRIu64 ",", p->reshard_ranks);
    else
        line(w, "    reshard_after_forward=%s,", p->keeps_unsharded ? "False" : "True");
    if (p->offloads)
        line(w, "    offload_policy=CPUOffloadPolicy(),");
    line(w, "    mp_policy=MixedPrecisionPolicy(param_dtype=%s, reduce_dtype=%s))",
         torch_name(p->param_dtype), torch_name(p->reduce_dtype));
    line(w, "decoder = model.get_decoder()");
    line(w, "for layer in decoder.layers if hasattr(decoder, \"layers\") else decoder.h:");
    line(w, "    fully_shard(layer, **options)");
    line(w, "fully_shard(model, **options)");
}

ms_status ms_ranks_pytorch(MS_RANKS_ARGUMENTS)
{
    const ms_layout *layout = &run->parallel.layout;
    writer w = begin(arena, run);
    (void)checkpoints;
    if (layout->kind != MS_PARALLEL_DDP && !is_plain(layout, MS_PARALLEL_FSDP2))
        return ms_fail(err, MS_ERR_USAGE, "no PyTorch code is printed for %s",
                       ms_layout_name(layout));
    line(&w, "# Behind treat(model), before the optimizer is made, on each of %" PRIu64 " ranks:",
         ms_layout_world(layout));
    line(&w, "import torch");
    (layout->kind == MS_PARALLEL_DDP ? write_ddp : write_fully_shard)(&w);
    return end(&w, "this code", text, err);
}
