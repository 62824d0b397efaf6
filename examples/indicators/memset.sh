#!/bin/sh
# Example of an indicator: rate at which the kernel fills memory with zeros; dd reads /dev/zero repeatedly into one block.
# Requires a POSIX shell and GNU coreutils. Settings: MEMSET_BLOCK_MIB, MEMSET_BLOCKS, MEMSET_REPS.
#
# Prints the settings on stderr, and the indicator, one JSON object, on stdout.
set -eu
block_mib=${MEMSET_BLOCK_MIB:-1} blocks=${MEMSET_BLOCKS:-8192} reps=${MEMSET_REPS:-5}
echo "$reps runs with $blocks blocks of $block_mib MiB" >&2

times='' i=0
while [ "$i" -lt "$reps" ]; do
        begin=$(date +%s%N)
        dd if=/dev/zero of=/dev/null bs="${block_mib}M" count="$blocks" 2>/dev/null
        times="$times $(($(date +%s%N) - begin))"
        i=$((i + 1))
done

# The median ignores repetitions that other processes disturbed.
# shellcheck disable=SC2086 # one word for each time
median_ns=$(printf '%s\n' $times | sort -n | awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }')

awk -v block_mib="$block_mib" -v blocks="$blocks" -v reps="$reps" -v ns="$median_ns" \
    -v version="$(dd --version | awk 'NR == 1 { print $NF }')" 'BEGIN {
        printf "{\"name\": \"Memset\", \"component\": \"coreutils\", \"version\": \"%s\",\n", version
        printf " \"@parameters\": {\"block_mib\": %d, \"blocks\": %d, \"reps\": %d},\n", block_mib, blocks, reps
        printf " \"@result\": {\"elapsed_s\": %.6f, \"rate_mib_per_s\": %.1f}}\n", ns / 1e9, block_mib * blocks / (ns / 1e9)
}'
