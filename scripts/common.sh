# What the scripts here share; sourced from the repository's root.

# rustup's programs even where no login shell has set the path, and our own tools.
export PATH="$PWD/target/tools/bin:$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# Everything is built once here: what incremental builds keep would only fill the disk. And whoever builds with other settings than
# the tests were built with builds everything anew.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

note() { printf '== %s\n' "$*" >&2; }
fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# Steps of a run of checks. It goes on after a failure: whoever waits for this wants to know everything that is wrong.
failed=()
step() {
    local name=$1 start=$SECONDS
    shift
    note "$name"
    "$@" || failed+=("$name")
    note "  $((SECONDS - start)) s"
}

# The steps that failed, and how long all took: wall clock, and CPU time of everything that they started.
report_steps() {
    local name
    for name in "${failed[@]}"; do note "FAILED: $name"; done
    note "all steps: $SECONDS s; CPU time (this shell, then all it started; user, system):"
    times >&2
}
