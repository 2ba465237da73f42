#!/usr/bin/env bash
# Run a command with a private PostgreSQL server: scripts/with_postgres.sh COMMAND [ARGUMENT...]
#
# The server lives in a temporary folder, listens on a socket there and on no network address, and is stopped when the
# command ends. VAKRA_TUI_TEST_POSTGRES holds its URL for the command. Debian's postgresql is installed where no server
# program is found and this is root. Exit code: the command's, or 69 where no server can be had.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: scripts/with_postgres.sh COMMAND [ARGUMENT...]" >&2
    exit 64
fi

find_programs() {
    local candidate
    for candidate in /usr/lib/postgresql/*/bin "$(dirname "$(command -v initdb || echo /nonexistent/initdb)")"; do
        if [ -x "$candidate/initdb" ] && [ -x "$candidate/pg_ctl" ]; then
            echo "$candidate"
            return
        fi
    done
}

programs=$(find_programs)
if [ -z "$programs" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Debian's postgresql." >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
    programs=$(find_programs)
fi
if [ -z "$programs" ]; then
    echo "There is no PostgreSQL server program here; install Debian's postgresql." >&2
    exit 69
fi

folder=$(mktemp -d /tmp/vakra-postgres.XXXXXX)
as_owner=()
if [ "$(id -u)" -eq 0 ]; then
    # The server refuses to run as root.
    owner=postgres
    id "$owner" >/dev/null 2>&1 || owner=nobody
    chown "$owner" "$folder"
    as_owner=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups env "HOME=$folder")
fi
chmod 755 "$folder"

stop() {
    (cd "$folder" && "${as_owner[@]}" "$programs/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1) || true
    rm -rf "$folder"
}
trap stop EXIT

cd_run() (cd "$folder" && "${as_owner[@]}" "$@")

cd_run "$programs/initdb" -D "$folder/data" -U vakra -A trust -E UTF8 --locale=C.UTF-8 >"$folder/initdb.log" 2>&1 || {
    cat "$folder/initdb.log" >&2
    exit 69
}
cd_run "$programs/pg_ctl" -D "$folder/data" -w -t 180 -l "$folder/data/server.log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$folder' -c unix_socket_permissions=0777 -c max_connections=50" \
    start >/dev/null || {
    cat "$folder/data/server.log" >&2
    exit 69
}
cd_run "$programs/psql" -q -h "$folder" -U vakra -d postgres -c 'CREATE DATABASE vakra'

export VAKRA_TUI_TEST_POSTGRES="postgresql://vakra@/vakra?host=$folder"
"$@"
