#!/usr/bin/env bash
# Writes again what is derived from the recorded runs, without a GPU: run.csv, findings.txt and figures of every
# folder here that holds a run.db, the list in local.mk, and the block of README.md that shows one of them.
#
#   results/update.sh [--readme-only] [SMSCOPE]
#   results/update.sh --block FOLDER [SMSCOPE]      prints README's block for results/FOLDER, changes nothing
#
# README shows the folder that it names, or the newest run if that one is gone.  Its heading says "stale" while the
# kernels of SMSCOPE (build/smscope by default) are not those of the run.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 3
top=$(dirname "$here")
readme=$top/README.md
mode=all
block=
while [ $# -gt 0 ]; do
    case $1 in
    --readme-only) mode=readme ;;
    --block) mode=block; block=${2:?--block needs a folder}; shift ;;
    -*) echo "update.sh: unknown option $1" >&2; exit 2 ;;
    *) SMSCOPE=$1 ;;
    esac
    shift
done
smscope=${SMSCOPE:-$top/build/smscope}
[ -x "$smscope" ] || { echo "update.sh: no program at $smscope; build it first (./quickstart)" >&2; exit 3; }
export SMSCOPE_DATADIR=${SMSCOPE_DATADIR:-$top}
scratch=$(mktemp -d) || exit 4
trap 'rm -rf "$scratch"' EXIT

meta() { # meta FILE KEY
    "$smscope" export "$1" --meta | sed -n "s/^$2=//p"
}
built_hash() { # of the kernels in the program: any modelled run tells
    "$smscope" sweep -q -d model:h200 -w short -o "$scratch/model.db" >/dev/null && meta "$scratch/model.db" kernels_hash
}
folders() { # recorded runs; quickstart's own is none
    (cd "$here" && for run in */run.db; do
        [ ! -f "$run" ] || [ "${run%/run.db}" = quickstart ] || echo "${run%/run.db}"
    done)
}
newest() {
    folders | while read -r folder; do
        echo "$(meta "$here/$folder/run.db" started_at) $folder"
    done | sort | awk 'END { print $2 }'
}

print_block() { # print_block FOLDER
    local run=$here/$1/run.db state=
    local table=(--findings --markdown -a topk=512 -a batch=auto)
    [ "$(meta "$run" kernels_hash)" = "$(built_hash)" ] || state=' (stale: the kernels have changed since)'
    cat <<END
### $(meta "$run" device), recorded $(meta "$run" started_at | cut -c1-10)$state

![Throughput against concurrency](results/$1/throughput.svg)
![Busy SMs and SM fill against batch](results/$1/fill.svg)

    smscope export results/$1/run.db ${table[*]}

END
    "$smscope" export "$run" "${table[@]}" && echo
}

update_folder() { # update_folder FOLDER
    local folder=$here/$1
    "$smscope" export "$folder/run.db" --csv -o "$folder/run.csv" &&
        "$smscope" export "$folder/run.db" --findings -o "$folder/findings.txt" &&
        "$smscope" plot -q "$folder/run.db" -o "$folder" && rm -f "$folder"/*.png
}

update_list() {
    folders | sed 's|^|RECORDED += results/|' | awk -v list="$here/local.mk" '
        { line[++n] = $0 }
        END {
            while ((getline old < list) > 0) {
                if (old ~ /^RECORDED \+=/) continue
                print old
                if (old ~ /^RECORDED =/) for (i = 1; i <= n; i++) print line[i]
            }
        }' >"$scratch/local.mk" && cp "$scratch/local.mk" "$here/local.mk"
}

update_readme() {
    local shown
    shown=$(sed -n 's/^<!-- recorded run: results\/\(.*\) -->$/\1/p' "$readme")
    [ -f "$here/$shown/run.db" ] || shown=$(newest)
    [ -n "$shown" ] || { echo "update.sh: no recorded run in $here" >&2; return 4; }
    print_block "$shown" >"$scratch/block" || return 4
    awk -v block="$scratch/block" -v shown="$shown" '
        /^<!-- end of the recorded run -->$/ { inside = 0 }
        !inside && !/^<!-- recorded run: / { print }
        /^<!-- recorded run: / {
            print "<!-- recorded run: results/" shown " -->"
            while ((getline line < block) > 0) print line
            inside = 1
        }' "$readme" >"$scratch/README.md" && cp "$scratch/README.md" "$readme"
}

if [ "$mode" = block ]; then
    print_block "$block"
    exit
fi
if [ "$mode" = all ]; then
    for folder in $(folders); do
        update_folder "$folder" || exit
    done
    update_list || exit 4
fi
update_readme
