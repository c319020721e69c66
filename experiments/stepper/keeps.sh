# Counts in 50 ms of simulated time how many ticks the controller keeps, for a chip and a tick rate:
#   sh keeps.sh STROBE BUILD CHIP HERTZ
# It is built the first time only: `build` of the experiment begins with an empty folder.
set -eu
strobe=$1 build=$2 chip=$3 hertz=$4
firmware=$(cd ../../firmware && pwd)
image=$build/$chip-$hertz.elf
stm32() {
    arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -masm-syntax-unified -std=gnu17 -O2 -g \
        -ffunction-sections -fdata-sections -nostartfiles --specs=nano.specs -Wl,--gc-sections \
        -DSTM32F070 -DTICK_HZ="$hertz" "$@" -I "$firmware/kit" -I "$firmware/stepper" \
        -L "$firmware/.." -T "$firmware/kit/stm32f070.ld" -o "$image" \
        controller.c "$firmware/stepper/motion.c" "$firmware"/kit/startup.c "$firmware"/kit/vectors.c \
        "$firmware"/kit/clock.c "$firmware"/kit/pins.c "$firmware"/kit/usart1.c \
        "$firmware"/kit/finished.c "$firmware"/kit/syscalls.c "$firmware"/kit/console_usart1.c
}
is_built() { test -e "$image"; }
case $chip in
avr-16mhz)
    is_built || avr-gcc -mmcu=atmega328p -std=gnu11 -O2 -gdwarf-4 -DF_CPU=16000000UL -DTICK_HZ="${hertz}UL" \
        -I "$firmware/stepper" -o "$image" controller.c "$firmware/stepper/motion.c"
    pin=PB0 mhz=16
    ;;
m0-8mhz)
    is_built || stm32 -DF_CPU=8000000u
    pin=PB8 mhz=8
    ;;
m0-48mhz)
    is_built || stm32 -DPREFETCH=PREFETCH_ON
    pin=PB8 mhz=48
    ;;
m0-48mhz-no-prefetch)
    is_built || stm32 -DPREFETCH=PREFETCH_OFF
    pin=PB8 mhz=48
    ;;
*) exit 64 ;;
esac
"$strobe" run "$image" --mark "$pin" --until 50ms --terse 2>/dev/null | tr -d '~,' |
    awk -v mark="$pin high" -v mhz="$mhz" '
        index($0, mark) {
            print "kept-hertz", $1 * 20
            print "worst-tick-nanoseconds", int($7 * 1000 / mhz)
            print "worst-tick-cycles", $7
            print "mean-tick-cycles", int($3)
            found = 1
        }
        END { exit !found }
    '
