# The width of the pulses of a simulated board, as counters: STROBE FIRMWARE PIN UNTIL MEGAHERTZ.
# Fails if there are none, or if they are not all alike.
set -eu
"$1" run "$2" --mark "$3" --until "$4" --terse 2>/dev/null | tr -d '~,' | awk -v mark="$3 high" -v mhz="$5" '
    index($0, mark) && $2 == $7 {
        print "pulses", $1
        print "pulse-cycles", $2
        print "pulse-nanoseconds", int($2 * 1000 / mhz)
        found = 1
    }
    END { exit !found }
'
