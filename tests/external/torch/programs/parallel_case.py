# SPDX-License-Identifier: GPL-3.0-or-later
"""parallel_case.py CASES.json ID: the loop of one rank of a case of tests/oracle/parallel, without its measuring. The ranks
are those of a launcher, and the process group is NCCL's."""
import contextlib
import gc
import json
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "oracle", "parallel"))
warnings.filterwarnings("ignore")
import strategies
import torch

case = next(case for case in json.load(open(sys.argv[1]))["cases"] if case["id"] == sys.argv[2])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
step = strategies.step_of(case)


@contextlib.contextmanager
def phase(name):
    """Some cases pause after each, so that NCCL's watchdog sees that collectives are over and lets go of their tensors."""
    yield
    time.sleep(case.get("settle_s", 0))


for number in range(100):
    if number == 2:
        gc.collect()
    step.run(phase)
