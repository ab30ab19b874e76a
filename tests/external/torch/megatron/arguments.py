# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of Megatron's pretrain_gpt.py for the cases of b200.json, as the publisher's launchers give them."""

# Hidden size, that of the MLP, heads, groups of keys, vocabulary.
LLAMA = {"llama3-70b": (8192, 28672, 64, 8, 128256), "llama3-405b": (16384, 53248, 128, 16, 128256)}
MICRO_BATCHES = 4
WORLD = 8

COMMON = """--attention-dropout 0.0 --hidden-dropout 0.0 --disable-bias-linear --position-embedding-type rope --no-position-embedding
 --swiglu --normalization RMSNorm --untie-embeddings-and-output-weights --seed 42 --micro-batch-size 1 --use-mcore-models
 --no-bias-dropout-fusion --use-distributed-optimizer --use-flash-attn --sequence-parallel --recompute-granularity full
 --recompute-method block --recompute-num-layers 0 --distributed-backend nccl --mock-data --weight-decay 0.1 --adam-beta1 0.9
 --adam-beta2 0.95 --clip-grad 1.0 --initial-loss-scale 65536 --min-loss-scale 1.0 --train-iters 3 --lr-warmup-iters 1 --lr 2.4e-4
 --lr-decay-style cosine --min-lr 1e-6 --bf16 --attention-softmax-in-fp32 --no-masked-softmax-fusion
 --accumulate-allreduce-grads-in-fp32 --tokenizer-type NullTokenizer --split 1 --no-create-attention-mask-in-dataloader
 --log-interval 1 --log-throughput --save-interval 200000 --eval-interval 1000 --eval-iters 0 --transformer-impl transformer_engine
 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te"""

LLAMA_ONLY = """--init-method-std 0.008 --norm-epsilon 1e-5 --group-query-attention --disable-tp-comm-bulk-wgrad
 --disable-tp-comm-bulk-dgrad --disable-tp-comm-overlap-rs --disable-tp-comm-overlap-ag --disable-tp-comm-split-ag
 --disable-tp-comm-split-rs"""

DEEPSEEK_V2 = """--init-method-std 0.006 --norm-epsilon 1e-6 --hidden-size 5120 --ffn-hidden-size 12288 --num-attention-heads 128
 --vocab-size 102400 --multi-latent-attention --enable-experimental --qk-layernorm --q-lora-rank 1536 --kv-lora-rank 512
 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --rotary-scaling-factor 1 --num-experts 160
 --moe-token-dispatcher-type alltoall --moe-router-score-function softmax --moe-router-group-topk 3
 --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 6 --moe-router-pre-softmax --moe-router-topk-scaling-factor 16
 --moe-aux-loss-coeff 3e-3 --moe-expert-capacity-factor 1 --moe-ffn-hidden-size 1536 --moe-shared-expert-intermediate-size 3072
 --moe-grouped-gemm --moe-permute-fusion --moe-pad-expert-input-to-capacity"""


def of(case):
    layers, parallel = case["num_layers"], case["parallel"]
    given = COMMON.split() + ["--num-layers", layers, "--seq-length", case["seq"], "--max-position-embeddings", case["seq"],
                              "--global-batch-size", MICRO_BATCHES * parallel["dp"], "--tensor-model-parallel-size", parallel["tp"],
                              "--pipeline-model-parallel-size", parallel["pp"]]
    if parallel["cp"] > 1:
        given += ["--context-parallel-size", parallel["cp"], "--cp-comm-type", "a2a"]
    if case["model"] in LLAMA:
        hidden, mlp, heads, groups, vocabulary = LLAMA[case["model"]]
        given += LLAMA_ONLY.split() + ["--hidden-size", hidden, "--ffn-hidden-size", mlp, "--num-attention-heads", heads,
                                       "--num-query-groups", groups, "--vocab-size", vocabulary]
    else:
        given += DEEPSEEK_V2.split() + ["--expert-model-parallel-size", parallel["ep"], "--moe-router-num-groups", parallel["ep"],
                                        "--moe-layer-freq", f"([0]*1+[1]*{layers - 1})*1"]
    return [str(word) for word in given]
