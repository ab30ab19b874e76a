GPUS=2 bash train.sh
