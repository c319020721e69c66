# Compiles the native code, both modules and the agent: FOLDER AGENTS.
set -eu
erlc -o "$1" exor.erl fairness.erl "$2/strobe_agent.erl"
root=$(erl -noshell -eval 'io:format("~s", [code:root_dir()]), halt().')
gcc -O2 -Wall -Wextra -shared -fPIC -I "$root/usr/include" -o "$1/exor.so" exor.c
