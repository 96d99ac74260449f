#!/usr/bin/env bash
# Checks a build on a GPU in one go: validates the kernels, sweeps a short grid, prints a short table last.
#
#   tests/gpu/run.sh [--record] [-d ORDINAL] [-o FOLDER] [SMSCOPE]
#
# --record leaves a complete results folder instead (default results/<gpu>-<date>), as tests/recorded.test wants it:
# run.db, run.csv and findings.txt of the default workload, its figures, validate.txt with its summary, doctor.txt,
# and nsplit.db, which tells how the default number of parts fares against others.
# It builds nothing; SMSCOPE is build/smscope by default.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 3
record=no
device=0
folder=
smscope=

while [ $# -gt 0 ]; do
    case $1 in
    --record) record=yes ;;
    -d) device=${2:?-d needs a GPU ordinal}; shift ;;
    -o) folder=${2:?-o needs a folder}; shift ;;
    -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) smscope=$1 ;;
    esac
    shift
done
smscope=${smscope:-$top/build/smscope}
[ -x "$smscope" ] || { echo "run.sh: no program at $smscope; build it first (./quickstart)" >&2; exit 3; }
export SMSCOPE_DATADIR=${SMSCOPE_DATADIR:-$top}

name=$("$smscope" list devices --csv 2>/dev/null | awk -F, -v d="$device" '$1 == d { print $2 }')
[ -n "$name" ] || { echo "run.sh: no GPU $device here; smscope doctor tells more" >&2; exit 3; }
if [ "$record" = yes ]; then
    slug=$(printf '%s' "$name" | tr '[:upper:]' '[:lower:]' | sed -e 's/nvidia //' -e 's/[^a-z0-9]/-/g')
    folder=${folder:-$top/results/$slug-$(date -u +%Y-%m-%d)}
else
    folder=${folder:-$(mktemp -d)}
fi
mkdir -p "$folder" || exit 4
[ "$record" = no ] || [ ! -e "$folder/run.db" ] ||
    { echo "run.sh: $folder holds a run already; remove it or name another folder: -o FOLDER" >&2; exit 2; }

status=0
note() { # keeps the first failure's exit code
    local code=$?
    [ "$code" -eq 0 ] || { echo "run.sh: $1 ended with exit code $code" >&2; [ "$status" -ne 0 ] || status=$code; }
}

"$smscope" doctor -d "$device" >"$folder/doctor.txt" 2>&1
note doctor
"$smscope" validate -d "$device" -o "$folder/validate.txt" >"$folder/validate-summary.txt"
note validate
tail -n 20 "$folder/validate-summary.txt"
if [ "$record" = yes ]; then
    "$smscope" sweep -d "$device" -w default -o "$folder/run.db" >"$folder/findings.txt"
    note sweep
    "$smscope" export "$folder/run.db" --csv -o "$folder/run.csv"
    note export
    "$smscope" sweep -q -d "$device" -a kernel=splitk -a nsplit=1:16:x2 -a topk=512 -a batch=1:128:x2 \
        -a concurrency=batch -o "$folder/nsplit.db" >/dev/null
    note "sweep of nsplit"
    if command -v gnuplot >/dev/null; then
        "$smscope" plot "$folder/run.db" -o "$folder"
        note plot
        rm -f "$folder"/*.png # git keeps the SVGs
    else
        echo "run.sh: no gnuplot here; results/update.sh draws the figures on another machine" >&2
    fi
else
    "$smscope" sweep -q -d "$device" -w short -o "$folder/short.db" >"$folder/findings.txt"
    note sweep
fi
cat "$folder/findings.txt"
echo "run.sh: files in $folder"
exit "$status"
