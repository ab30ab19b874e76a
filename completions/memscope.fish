# SPDX-License-Identifier: GPL-3.0-or-later

function __memscope_models
    memscope models 2>/dev/null | tail -n +2 | string split -f1 ' '
end

function __memscope_devices
    memscope devices 2>/dev/null | tail -n +3 | string split -f1 ' '
    echo cpu
end

complete -c memscope -n __fish_use_subcommand -f -a analyze -d 'How much memory a training step needs'
complete -c memscope -n __fish_use_subcommand -f -a models -d 'List the built-in models'
complete -c memscope -n __fish_use_subcommand -f -a devices -d 'List the built-in devices'
complete -c memscope -n __fish_use_subcommand -f -a help -d 'Explain a command'
complete -c memscope -n '__fish_seen_subcommand_from help' -f -a 'analyze models devices help'

set -l analyze '__fish_seen_subcommand_from analyze'
complete -c memscope -n $analyze -l config -r -a '(__memscope_models)' -d 'The model'
complete -c memscope -n $analyze -l batch -x -d 'Sequences per micro-batch'
complete -c memscope -n $analyze -l seq -x -d 'Tokens per sequence'
complete -c memscope -n $analyze -l dtype -x -a 'bf16 fp16 fp32' -d 'Of the weights'
complete -c memscope -n $analyze -l autocast -x -a 'none bf16 fp16' -d 'Precision of the operators'
complete -c memscope -n $analyze -l optimizer -x -a 'adamw adam sgd sgd-momentum' -d 'Optimizer'
complete -c memscope -n $analyze -l optimizer-impl -x -a 'fused foreach loop' -d 'Its implementation'
complete -c memscope -n $analyze -l weight-decay -x -d 'Weight decay'
complete -c memscope -n $analyze -l accumulate -x -d 'Micro-batches per optimizer step'
complete -c memscope -n $analyze -l clip -x -d 'Largest gradient norm'
complete -c memscope -n $analyze -l checkpointing -x -a 'none all' -d 'Layers to recompute'
complete -c memscope -n $analyze -l checkpoint-kind -x -a 'non-reentrant reentrant' -d 'Kind of checkpointing'
complete -c memscope -n $analyze -l attention -x -a 'auto flash efficient math eager cpu-flash' -d 'Attention kernel'
complete -c memscope -n $analyze -l device -x -a '(__memscope_devices)' -d 'Device'
complete -c memscope -n $analyze -l torch -x -d 'Version of PyTorch'
complete -c memscope -n $analyze -l allocator -x -a 'cuda cuda-expandable raw' -d 'Allocator'
complete -c memscope -n $analyze -l max-split-size -x -d 'Largest block that is split'
complete -c memscope -n $analyze -l roundup-power2-divisions -x -d 'Size classes per power of two'
complete -c memscope -n $analyze -l budget -x -d 'Memory the run may take'
complete -c memscope -n $analyze -l format -x -a 'console json md csv' -d 'Only this report'
complete -c memscope -n $analyze -s o -l file -r -d 'Where it goes'
complete -c memscope -n $analyze -l output -r -d 'Another report: FORMAT=FILE'
complete -c memscope -n $analyze -l out -r -d 'Directory of the two report files'
complete -c memscope -n $analyze -l events -r -d 'Allocations and frees of a step'
complete -c memscope -n $analyze -l unroll -d 'A record for every layer'
complete -c memscope -n $analyze -s q -l quiet -d 'No console report'
complete -c memscope -n $analyze -l color -x -a 'auto always never' -d 'Colour'
complete -c memscope -n $analyze -l no-color -d 'No colour'
complete -c memscope -n $analyze -s h -l help -d 'Explain'
