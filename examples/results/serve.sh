#!/bin/sh
# A load test that is none: serve.sh USERS RELEASE REPEAT DIRECTORY writes what a real one leaves behind.
# Release 2.0.0 has a longer latency; its throughput is that of 1.9.0.
users=$1 release=$2 repeat=$3 directory=$4
case $release in
2.*) latency=$((60 + repeat)) ;;
*)   latency=$((40 + repeat)) ;;
esac
mkdir -p "$directory/000__load_test"
cat >"$directory/000__load_test/output.json" <<END
{"summary": {"throughput": $((users * 100 + repeat))},
 "results": [{"latency": $latency}, {"latency": $((latency + 2))}, {"latency": $((latency + 9))}]}
END
echo "loaded the model in 1$repeat.5 s"
echo "served $((users * 1000)) tokens"
