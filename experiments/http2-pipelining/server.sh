# nginx on the loopback interface, as whoever runs this, with 100 files of 2.7 KB.
#   sh server.sh prepare FOLDER PORT [http2]
#   sh server.sh start FOLDER                 stays in the foreground
set -eu
case $1 in
prepare)
    mkdir -p "$2/files" "$2/temporary"
    file=0
    while [ $file -lt 100 ]; do
        head -c 2700 /dev/zero | tr '\0' "$((file % 10))" >"$2/files/$file"
        file=$((file + 1))
    done
    cat >"$2/nginx.conf" <<END
daemon off;
master_process off;
pid $2/pid;
error_log $2/log warn;
events { worker_connections 64; }
http {
    access_log off;
    keepalive_requests 100000;
    client_body_temp_path $2/temporary/body;
    proxy_temp_path $2/temporary/proxy;
    fastcgi_temp_path $2/temporary/fastcgi;
    uwsgi_temp_path $2/temporary/uwsgi;
    scgi_temp_path $2/temporary/scgi;
    server {
        listen 127.0.0.1:$3 ${4:-};
        root $2/files;
    }
}
END
    ;;
start) exec nginx -p "$2" -c "$2/nginx.conf" -e "$2/log" ;;
*) exit 64 ;;
esac
