# A MariaDB server of its own, on the loopback interface, as whoever runs this.
#   sh server.sh template FOLDER                  makes an empty data directory, once
#   sh server.sh prepare TEMPLATE FOLDER          copies it
#   sh server.sh start FOLDER PORT ID [OPTION...] stays in the foreground
#   sh server.sh ready PORT
#   sh server.sh plugin NAME                      whether that plugin is installed
#   sh server.sh counters PORT                    NAME NUMBER of what it has synchronised
set -eu
sql() { mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$1" -u root -N -B -e "$2"; }
what=$1
shift
case $what in
template)
    test ! -e "$1/done" || exit 0
    rm -rf "$1"
    mkdir -p "$1"
    mariadb-install-db --no-defaults --datadir="$1/data" --user="$(id -un)" \
        --auth-root-authentication-method=normal --skip-test-db --innodb-log-file-size=16M >/dev/null
    touch "$1/done"
    ;;
prepare)
    cp -r "$1/data" "$2/data"
    ;;
start)
    folder=$1 port=$2 id=$3
    shift 3
    # The path of a socket has room for 107 characters: it is given from the data directory on.
    cd "$folder/data"
    exec mariadbd --no-defaults --datadir="$folder/data" --socket=socket --pid-file=pid \
        --user="$(id -un)" --port="$port" --bind-address=127.0.0.1 --skip-name-resolve \
        --server-id="$id" --log-bin=binlog --log-slave-updates --gtid-strict-mode=1 \
        --sync-binlog=1 --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=32M \
        --innodb-log-file-size=16M --performance-schema=0 --skip-slave-start "$@"
    ;;
plugin)
    directory=$(mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
    test -e "$directory/$1.so"
    ;;
ready)
    sql "$1" "select 1" >/dev/null
    ;;
counters)
    sql "$1" "show global status where variable_name in ('Binlog_commits', 'Binlog_group_commits',
        'Innodb_data_fsyncs', 'Transactions_gtid_foreign_engine')" |
        tr 'A-Z_\t' 'a-z- '
    ;;
*) exit 64 ;;
esac
