# What the scripts here share; sourced from the repository's root.

# rustup's programs even where no login shell has set the path, and our own tools.
export PATH="$PWD/target/tools/bin:$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

say() { printf '== %s\n' "$*" >&2; }
fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}
