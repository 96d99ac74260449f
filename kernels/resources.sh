#!/bin/sh
# Registers, spills and shared memory of the device code, as ptxas reports them.
#
#   resources.sh logs NVCC LOG...   the logs that make leaves beside each NAME.cu.o -> a table on stdout
#   resources.sh table TSV          the recorded table -> resources_table.h on stdout
#
# The table: tab-separated, a header line, sorted; spill_bytes is stores + loads.
set -eu
tab=$(printf '\t')

# Each kernel takes four lines: "Compiling entry function 'F' for 'sm_A'", "Function properties for F",
# the spills, "Used N registers, ...".
from_logs() {
    version=$("$1" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    shift
    printf 'nvcc\tarch\tfunction\tregisters\tspill_bytes\tsmem_static_bytes\tbarriers\n'
    awk -v version="$version" '
        function number_before(word, i) {
            for (i = 2; i <= NF; i++)
                if ($i == word || $i == word ",")
                    return $(i - 1) + 0
            return 0
        }
        /Compiling entry function/ {
            split($0, part, "\047")
            name = part[2]
            arch = substr(part[4], 4)
        }
        /Function properties for/ { ours = ($NF == name) }
        /bytes spill stores/ && ours { spill = $5 + $9 }
        /Used [0-9]+ registers/ && name != "" {
            printf "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", version, arch, name, number_before("registers"),
                spill, bytes_of("smem"), number_before("barriers")
            name = ""
        }
        function bytes_of(word, i) {
            for (i = 3; i <= NF; i++)
                if ($i == word || $i == word ",")
                    return $(i - 2) + 0
            return 0
        }' "$@" | LC_ALL=C sort -t "$tab" -k3,3 -k2,2n
}

to_table() {
    awk -F '\t' '
        NR == 1 { next }
        NR == 2 { printf "#define RESOURCES_NVCC \"%s\"\n#define RESOURCES_ROWS \\\n", $1 }
        { printf "%s    {\"%s\", \"%s\", %d, %d, %d, %d}", (NR > 2 ? ", \\\n" : ""), $2, $3, $4, $5, $6, $7 }
        END { print "" }' "$1"
}

case "$#,${1:-}" in
1,* | 0,*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
*,logs) shift; from_logs "$@" ;;
2,table) to_table "$2" ;;
esac
