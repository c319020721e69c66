# Lets a primary commit transactions while its replica is stopped, and then the replica catch up:
#   sh replay.sh PRIMARY REPLICA WORKERS UPDATES ENGINE
# Prints how long the replica took from its start to the primary's position, and what both hold.
set -eu
primary=$1 replica=$2 workers=$3 updates=$4 engine=$5
sql() { mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$1" -u root -N -B -e "$2"; }
position() { sql "$primary" "select @@gtid_binlog_pos"; }
# The replica's wait ends with 0 at the position, with -1 after that many seconds.
catch_up() {
    waited=$(sql "$replica" "start slave; select master_gtid_wait('$(position)', 60)")
    if [ "$waited" != 0 ]; then
        sql "$replica" "show slave status" | tr '\t' '\n' | grep -i error >&2 || :
        echo "the replica did not get to the position" >&2
        exit 1
    fi
}

if ! sql "$primary" "select 1 from load_$engine.numbers limit 1" >/dev/null 2>&1; then
    rows=$(seq 1 1200 | sed 's/.*/(&, 0)/' | paste -sd, -)
    sql "$primary" "create database load_$engine;
        create table load_$engine.numbers (id int primary key, n int not null) engine=$engine;
        insert into load_$engine.numbers values $rows"
fi
sql "$replica" "stop slave; change master to master_host='127.0.0.1', master_port=$primary,
    master_user='root', master_use_gtid=slave_pos; set global slave_parallel_threads=$workers"
# What other variants have left is not this one's work.
catch_up
sql "$replica" "stop slave"

# Twelve clients, each with rows of its own: what one of them commits waits for none of the others.
for client in 0 1 2 3 4 5 6 7 8 9 10 11; do
    seq "$client" 12 $((updates - 1)) |
        sed "s/.*/update load_$engine.numbers set n = n + 1 where id = & + 1;/" |
        mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$primary" -u root &
done
wait
before=$(sh "$(dirname "$0")/server.sh" counters "$replica")
begin=$(date +%s%N)
catch_up
end=$(date +%s%N)
after=$(sh "$(dirname "$0")/server.sh" counters "$replica")
sql "$replica" "stop slave"
sum="select count(*), sum(n) from load_$engine.numbers"
if [ "$(sql "$primary" "$sum")" != "$(sql "$replica" "$sum")" ]; then
    echo "the replica differs from the primary" >&2
    exit 1
fi
echo "catch-up-nanoseconds $((end - begin))"
printf '%s\n%s\n' "$before" "$after" |
    awk '{ if ($1 in n) print $1, $2 - n[$1]; else n[$1] = $2 }'
echo "the replica holds what the primary holds"
