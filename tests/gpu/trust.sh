#!/usr/bin/env bash
# Can the numbers be trusted?  What only a GPU can prove of sampling, telemetry, roofs, tracing, cold and hot, and
# the watchdog: a line PASS or FAIL each, exit 1 if any fails.
#
#   tests/gpu/trust.sh [-d ORDINAL] [-o FOLDER] [SMSCOPE]
#
# It needs sqlite3 or python3 to read the run files; SMSCOPE is build/smscope by default.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 3
device=0
folder=
smscope=
while [ $# -gt 0 ]; do
    case $1 in
    -d) device=${2:?-d needs a GPU ordinal}; shift ;;
    -o) folder=${2:?-o needs a folder}; shift ;;
    -*) echo "trust.sh: unknown option $1" >&2; exit 2 ;;
    *) smscope=$1 ;;
    esac
    shift
done
smscope=${smscope:-$top/build/smscope}
[ -x "$smscope" ] || { echo "trust.sh: no program at $smscope; build it first (./quickstart)" >&2; exit 3; }
command -v sqlite3 >/dev/null || command -v python3 >/dev/null ||
    { echo "trust.sh: neither sqlite3 nor python3 is here" >&2; exit 3; }
export SMSCOPE_DATADIR=${SMSCOPE_DATADIR:-$top}
folder=${folder:-$(mktemp -d)}
mkdir -p "$folder" || exit 4
failed=0

verdict() { # verdict RESULT TEXT
    if [ "$1" -eq 0 ]; then
        echo "PASS $2"
    else
        echo "FAIL $2"
        failed=1
    fi
}
# holds TEXT EXPRESSION: of awk, where missing words are empty
holds() {
    awk "BEGIN { exit !($2) }" </dev/null
    verdict $? "$1"
}
query() { # query RUN.db SQL: one value
    if command -v sqlite3 >/dev/null; then
        sqlite3 -readonly "$1" "$2"
    else
        python3 -c 'import sqlite3, sys
for row in sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute(sys.argv[2]):
    print("|".join("" if v is None else str(v) for v in row))' "$1" "$2"
    fi
}
run_metric() { query "$1" "SELECT value FROM metric WHERE point IS NULL AND name = '$2'"; }
sweep() { # sweep NAME OPTION...: sets $code and $seconds
    local name=$1 began=$SECONDS
    shift
    rm -f "$folder/$name.db"
    "$smscope" sweep -q -d "$device" -o "$folder/$name.db" "$@" >"$folder/$name.txt" 2>"$folder/$name.err"
    code=$?
    seconds=$((SECONDS - began))
}

# ---- a short sweep: sampling, telemetry, roofs, tracing ----

sweep short -w short
run=$folder/short.db
holds "a short sweep ends with exit 0 ($code, $seconds s)" "$code == 0"
points=$(query "$run" "SELECT count(*) FROM point")
missed=$(query "$run" "SELECT count(*) FROM point WHERE reason LIKE '%step_us is known within%'")
moving=$(query "$run" "SELECT count(*) FROM point WHERE reason LIKE '%still moved%'")
holds "the median is known within 0.5 % in all of $points points but at most one ($missed missed)" "$missed <= 1"
holds "warm-up found an end in all but at most one ($moving did not)" "$moving <= 1"
echo "     samples: $(query "$run" "SELECT min(n) || ' to ' || max(n) FROM (SELECT count(*) n FROM sample GROUP BY point)"), \
warm-up ms: $(query "$run" "SELECT round(min(value)) || ' to ' || round(max(value)) FROM metric WHERE name = 'warm_up_ms'")"
told=$(query "$run" "SELECT count(DISTINCT point) FROM metric m WHERE source = 'nvml' AND name = 'sm_clock_mhz_min' AND
    value > 0 AND (SELECT count(*) FROM metric o WHERE o.point = m.point AND o.source = 'nvml') >= 14")
holds "NVML tells clocks, power, temperature and reasons of each point ($told of $points)" "$told == $points"
echo "     SM clock $(query "$run" "SELECT min(value) FROM metric WHERE name = 'sm_clock_mhz_min'") to \
$(query "$run" "SELECT max(value) FROM metric WHERE name = 'sm_clock_mhz_max'") MHz, at most \
$(query "$run" "SELECT max(value) FROM metric WHERE name = 'power_w_max'") W"
read_roof=$(run_metric "$run" read_roof_gb_per_s)
copy_roof=$(run_metric "$run" copy_roof_gb_per_s)
peak=$(run_metric "$run" matrix_peak_tflops)
echo "     roofs: read ${read_roof:-missing} GB/s, copy ${copy_roof:-missing} GB/s, matrix ${peak:-missing} Tflop/s"
case $(query "$run" "SELECT device FROM run") in
*H200*)
    holds "read roof of an H200 is 3.5 to 4.9 TB/s" "\"$read_roof\" + 0 >= 3500 && \"$read_roof\" + 0 <= 4900"
    holds "its copy roof 3 to 4.9 TB/s" "\"$copy_roof\" + 0 >= 3000 && \"$copy_roof\" + 0 <= 4900"
    holds "its matrix peak 600 to 900 Tflop/s" "\"$peak\" + 0 >= 600 && \"$peak\" + 0 <= 900"
    ;;
*)
    holds "there is a read roof" "\"$read_roof\" + 0 > 0"
    holds "a copy roof" "\"$copy_roof\" + 0 > 0"
    holds "and a matrix peak" "\"$peak\" + 0 > 0"
    ;;
esac
overhead=$(sed -n 's/^Traced steps took \([0-9.]*\) % .*/\1/p' "$folder/short.txt")
holds "tracing costs less than 20 % (${overhead:-not told})" "\"$overhead\" != \"\" && \"$overhead\" + 0 < 20"
least=$(query "$run" "SELECT min(d.value / m.value) FROM metric d JOIN metric m ON d.launch = m.launch
    WHERE d.name = 'dram__bytes_read.sum' AND m.name = 'must_read_bytes'")
holds "cold launches read at least 95 % of what they must from DRAM (least $least of it)" "\"$least\" + 0 >= 0.95"

# ---- cold and hot ----

sweep both -a kernel=mma,simt -a batch=1,16 -a concurrency=batch -a topk=512 -a cache=cold,hot
run=$folder/both.db
holds "hot points are ok too (exit $code)" "$code == 0"
query "$run" "SELECT p.key, round(g.value, 2) || ' us', round(d.value) || ' bytes from DRAM', round(h.value, 1) || ' % L2 hits'
    FROM point p JOIN metric g ON g.point = p.id AND g.launch IS NOT NULL AND g.name = 'gpu_us'
    LEFT JOIN metric d ON d.launch = g.launch AND d.name = 'dram__bytes_read.sum'
    LEFT JOIN metric h ON h.launch = g.launch AND h.name = 'l2_hit_pct' ORDER BY p.key" | sed 's/^/     /'
colder=$(query "$run" "SELECT count(*) FROM metric h JOIN point p ON p.id = h.point WHERE h.name = 'dram__bytes_read.sum'
    AND p.cache = 'hot' AND h.launch IS NOT NULL AND h.value > 0.5 * (SELECT c.value FROM metric c JOIN point q ON q.id = c.point
        WHERE c.name = h.name AND c.launch IS NOT NULL AND q.key = trim(replace(p.key, ' cache=hot', '')))")
holds "hot launches read less than half of the DRAM bytes of cold ones ($colder do not)" "\"$colder\" == \"0\""

# ---- the watchdog and the budget, on a live context ----

rm -f "$folder/hung.db"
"$smscope" sweep -q -d "$device" -o "$folder/hung.db" -a kernel=mma -a topk=64:512:64 --point-limit 8 \
    >"$folder/hung.txt" 2>"$folder/hung.err" &
parent=$!
for _ in $(seq 300); do
    [ -n "$(query "$folder/hung.db" "SELECT 1 FROM point WHERE status = 'ok' LIMIT 1" 2>/dev/null)" ] && break
    sleep 0.1
done
kill -STOP "$(cut -d' ' -f1 "/proc/$parent/task/$parent/children")" # a child whose kernel never ends looks like this
wait "$parent"
code=$?
statuses=$(query "$folder/hung.db" "SELECT group_concat(n || ' ' || status, ', ') FROM
    (SELECT count(*) n, status FROM point GROUP BY status)")
holds "a hung child costs one point and exit 4 ($code: $statuses)" "$code == 4 && \"$statuses\" == \"7 ok, 1 timeout\""
sweep budget -w default --budget 15
left=$(query "$folder/budget.db" "SELECT count(*) FROM point WHERE status = 'pending'")
holds "a budget of 15 s ends after $seconds s with $left points pending (exit $code)" \
    "$code == 4 && $left > 0 && $seconds >= 14 && $seconds <= 22"

echo "trust.sh: files in $folder"
exit "$failed"
