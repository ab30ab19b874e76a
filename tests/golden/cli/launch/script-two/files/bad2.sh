accelerate launch a.py --bf16
accelerate launch b.py
