#!/bin/sh
# Example of an indicator: time to start Python and to import a module that prints a line.
# Settings: HELLO_REPS, HELLO_PYTHON (the interpreter).
set -eu
reps=${HELLO_REPS:-10} python=${HELLO_PYTHON:-python3}
echo "$reps runs of $python" >&2

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
echo 'print("hello")' >"$directory/hello_world.py"

times='' i=0
while [ "$i" -lt "$reps" ]; do
        begin=$(date +%s%N)
        PYTHONPATH=$directory PYTHONDONTWRITEBYTECODE=1 "$python" -c 'import hello_world' >/dev/null
        times="$times $(($(date +%s%N) - begin))"
        i=$((i + 1))
done

# shellcheck disable=SC2086 # one word for each time
median_ns=$(printf '%s\n' $times | sort -n | awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }')
version=$("$python" -c 'import platform; print(platform.python_version())')
awk -v reps="$reps" -v ns="$median_ns" -v version="$version" 'BEGIN {
        printf "{\"name\": \"HelloImport\", \"component\": \"python\", \"version\": \"%s\",\n", version
        printf " \"@parameters\": {\"reps\": %d}, \"@result\": {\"elapsed_s\": %.6f}}\n", reps, ns / 1e9
}'
