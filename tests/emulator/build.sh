#!/bin/sh
# Builds the stand-ins for libcuda.so and libnvrtc.so from the kernels: build.sh OUTPUT_FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
kernels=$here/../../kernels
out=$1
mkdir -p "$out"
# -O1: -O2 takes 80 s of processor time more to compile, and the tests end 6 s sooner.
flags="-std=c++17 -O1 -fPIC -ffp-contract=off -fno-strict-aliasing -march=x86-64-v3 -w -I$kernels -I$here"
objects=
for source in "$kernels"/*.cu; do
    name=$(basename "$source" .cu)
    {
        echo '#include "emulator.hpp"'
        echo "#include \"$name.cu\""
        sed -n 's/.*extern "C" __global__ void.* \([a-z0-9_]*\)(const .*/EMULATOR_KERNEL(\1)/p' "$source"
    } > "$out/$name.emulated.cpp"
    ${CXX:-c++} $flags -c "$out/$name.emulated.cpp" -o "$out/$name.o" &
    objects="$objects $out/$name.o"
done
${CXX:-c++} $flags -c "$here/driver.cpp" -o "$out/driver.o"
wait
${CXX:-c++} -shared -o "$out/libcuda.so" "$out/driver.o" $objects
ln -sf libcuda.so "$out/libnvrtc.so"
