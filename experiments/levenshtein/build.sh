# Compiles the native code and the module: FOLDER.
set -eu
root=$(erl -noshell -eval 'io:format("~s", [code:root_dir()]), halt().')
gcc -O2 -Wall -Wextra -shared -fPIC -I "$root/usr/include" -o "$1/distance.so" distance.c
erlc -o "$1" distance.erl
