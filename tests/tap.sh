# shellcheck shell=bash
# Sourced by the .test scripts: TAP points and a scratch folder that goes away at the end.
# Use: check "what must hold" COMMAND ARG...; at the end: done_testing

tap_count=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/smscope-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT

# check NAME COMMAND...: one point, ok if the command succeeds; its output is shown if it does not
check() {
    local name=$1
    shift
    tap_count=$((tap_count + 1))
    if "$@" >"$scratch/tap.out" 2>&1; then
        echo "ok $tap_count - $name"
    else
        echo "not ok $tap_count - $name"
        sed 's/^/# /' "$scratch/tap.out"
    fi
}

# fails COMMAND...: the opposite of a command, for check
fails() {
    ! "$@"
}

# skip NAME REASON: one point that cannot be decided here
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# skip_all REASON: the whole script is off
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing() {
    echo "1..$tap_count"
}
