#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles TransformerEngine's extension for PyTorch without optimisation, in minutes instead of an hour: no code in it
# runs on the device.
#
# usage: build_extension.sh PYTHON SOURCE FOLDER
#
# PYTHON has torch for CUDA with NVIDIA's packages of headers, and the wheels of transformer_engine and
# transformer_engine_cu13 (or cu12); SOURCE is the unpacked source package of transformer_engine_torch of that version.
# Objects go to FOLDER, the extension beside TransformerEngine's own library.
# shellcheck disable=SC2154 # PYTHON prints what some names are
set -eu

python=$1 source=$(cd "$2" && pwd)
paths=$("$python" - <<'END'
import glob, importlib.util, os, sysconfig
torch = importlib.util.find_spec("torch").submodule_search_locations[0]
packages = os.path.dirname(torch)
engine = importlib.util.find_spec("transformer_engine").submodule_search_locations[0]
runtime = glob.glob(packages + "/nvidia/**/libcudart.so.*", recursive=True)[0]
headers = sorted(glob.glob(packages + "/nvidia/*/include")) + ["/usr/local/cuda/include"]
print(f"torch='{torch}' engine='{engine}' runtime='{runtime}'")
print(f"suffix='{sysconfig.get_config_var('EXT_SUFFIX')}' own='{sysconfig.get_paths()['include']}'")
print("headers='" + " ".join("-I" + folder for folder in headers) + "'")
END
)
eval "$paths"
mkdir -p "$3"
cd "$3"
flags="-O0 -w -fPIC -fvisibility=hidden -std=c++17 -DTORCH_API_INCLUDE_EXTENSION_H"
flags="$flags -DTORCH_EXTENSION_NAME=transformer_engine_torch"
common="$source/common_headers"
include="-I$common -I$common/common -I$common/common/include -I$source/csrc $headers
 -I$torch/include -I$torch/include/torch/csrc/api/include -I$own"

printf '#include <%s>\n' Python.h pybind11/pybind11.h pybind11/functional.h > all.h
echo '#include "common.h"' >> all.h
# shellcheck disable=SC2086 # words
g++ $flags $include -x c++-header all.h -o all.h.gch
# These define names that others define too.
apart="gemm pybind comm_gemm_overlap"
find "$source/csrc" -name '*.cpp' | sort | while read -r file; do
    case " $apart " in
    *" $(basename "$file" .cpp) "*) ;;
    *) echo "#include \"$file\"" ;;
    esac
done > rest.cpp
for name in rest $apart; do
    file=$source/csrc/extensions/$name.cpp
    [ "$name" != rest ] || file=rest.cpp
    # shellcheck disable=SC2086
    g++ $flags $include -include all.h -c "$file" -o "$name.o"
done
mkdir -p "$engine/wheel_lib"
g++ -shared rest.o gemm.o pybind.o comm_gemm_overlap.o -o "$engine/wheel_lib/transformer_engine_torch$suffix" \
    -L"$torch/lib" -lc10 -lc10_cuda -ltorch -ltorch_cpu -ltorch_cuda -ltorch_python "$runtime"
echo "$engine/wheel_lib/transformer_engine_torch$suffix"
