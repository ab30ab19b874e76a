#!/bin/bash
#SBATCH --gpus 8
set -euo pipefail
cd "$(dirname "$0")"
export WANDB_PROJECT=x   # a comment
MODEL=llama-3.2-1b
GPUS=${GPUS:-4}
BATCH=2
PORT=$(shuf -i 1-2 -n 1)
mkdir -p out
ARGS="--bf16 --gradient_checkpointing"
OPTS=(
  --max_length 1024   # tokens
  --learning_rate 2e-4
)
cat > /dev/null <<EOT
for i in 1 2; do torchrun not this
EOT
if [ -z "$FOO" ]; then
  FOO=1
fi
for i in 1 2; do torchrun --nproc_per_node $GPUS \
    --master_port $PORT \
    train.py \
    --model_name_or_path "$MODEL" \
    --output_dir out/$(date +%s) \
    --per_device_train_batch_size ${BATCH} $ARGS "${OPTS[@]}" 2>&1 | tee log.txt
done
