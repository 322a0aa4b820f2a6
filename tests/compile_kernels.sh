#!/usr/bin/env bash
# Compiles every kernel with $NVCC as build.rs does, for compute capability 9.0, as many at a time as there are cores.
# Warnings are errors, and so are spilled registers beyond the bytes noted in tests/spills.txt.
set -uo pipefail
cd "$(dirname "$0")/.."
out=target/kernels
flags=(-std=c++17 -O3 --fmad=false -diag-suppress=177 -Werror all-warnings -Xptxas=-v -arch=sm_90)

# One source; the log says what is wrong.
compile() {
    local log=$out/$(basename "$1" .cu).log
    "$NVCC" -cubin "${flags[@]}" -o "${log%.log}.cubin" "$1" >"$log" 2>&1 || return 1
    # Kernels and the bytes that they spill.
    awk -F"'" '/Compiling entry function/ { kernel = $2 }
        match($0, /[0-9]+ bytes spill stores/) { print kernel, substr($0, RSTART) + 0 }' "$log" >"$log.spills"
    awk 'NR == FNR { noted[$1] = $2; next }
        $2 > noted[$1] + 0 { print $1 " spills " $2 " bytes, " noted[$1] + 0 " are noted"; bad = 1 }
        END { exit bad }' tests/spills.txt "$log.spills" >>"$log"
}

if [[ $# -gt 0 ]]; then
    compile "$1" && touch "$out/$(basename "$1").ok"
    exit 0
fi
rm -rf "$out" && mkdir -p "$out"
printf '%s\n' kernels/*.cu | xargs -P "$(nproc)" -I{} bash "$0" {}
passed=0 failed=0
for source in kernels/*.cu; do
    if [[ -e $out/$(basename "$source").ok ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$source:" && tail -n 40 "$out/$(basename "$source" .cu).log"
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
