# Runs a PostgreSQL server for tests: a new one in a folder of its own, until whoever started it closes our input.
# A line on the input restarts it. Says `ready` whenever it answers.
# Arguments: the folder of the programs, the port. The certificate and its key come in the environment.
set -u
bin=$1 port=$2
dir=$(mktemp -d /tmp/sp-postgres-XXXXXX) || exit 1
cd "$dir" || exit 1
pid=
finish() {
    [ -n "$pid" ] && kill -INT "$pid" 2>/dev/null && wait "$pid"
    cd / && rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

umask 077
printf '%s' "$SP_TEST_PASSWORD" >password
printf '%s' "$SP_TEST_CERTIFICATE" >cert.pem
printf '%s' "$SP_TEST_KEY" >key.pem
"$bin/initdb" -D data -U sp -A scram-sha-256 --pwfile=password -N -E UTF8 --locale=C.UTF-8 >log 2>&1 || { cat log >&2; exit 1; }

start() {
    "$bin/postgres" -D data -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off \
        -c ssl=on -c ssl_cert_file="$dir/cert.pem" -c ssl_key_file="$dir/key.pem" >>log 2>&1 </dev/null &
    pid=$!
    tries=0
    until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do
        tries=$((tries + 1))
        kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 300 ] || { cat log >&2; exit 1; }
        sleep 0.1
    done
    echo ready
}

start
while read -r _; do
    kill -INT "$pid"
    wait "$pid"
    start
done
