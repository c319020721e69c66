# Compiles all modules, and keeps the compiler's notes on binaries beside each: FOLDER.
set -eu
for source in *.erl; do
    erlc +bin_opt_info +debug_info -o "$1" "$source" > "$1/${source%.erl}.notes" 2>&1
done
