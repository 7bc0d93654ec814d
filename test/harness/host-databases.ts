import { expect } from "bun:test";
import type { PrivateRoot } from "./private-root.ts";
import { output } from "./state-trips.ts";

/** A server with the data of `mariadb-install-db`, on a socket alone, which logs each statement. */
export async function startMariadb(root: PrivateRoot): Promise<void> {
  const script = `set -e
mkdir -p /run/mysqld /tmp/mysql/data
chown -R mysql /run/mysqld /tmp/mysql
mariadb-install-db --user=mysql --datadir=/tmp/mysql/data >/dev/null 2>&1
setsid mariadbd --user=mysql --datadir=/tmp/mysql/data --skip-networking --socket=/run/mysqld/mysqld.sock \\
  --general-log --general-log-file=/tmp/mysql/log >/tmp/mysql/errors 2>&1 &
mariadb-admin --wait=30 ping >/dev/null 2>&1`;
  expect(await output(root, script)).toBe("");
}

/** A server of this machine's own PostgreSQL, on the socket in /tmp/pg alone. */
export async function startPostgres(root: PrivateRoot): Promise<void> {
  await output(
    root,
    "mkdir /tmp/pg && chown postgres /tmp/pg && cd /tmp/pg && export PATH=$PATH:$(pg_config --bindir) && " +
      "setpriv --reuid postgres --regid postgres --clear-groups sh -c 'initdb -A peer -D data >/dev/null && " +
      'pg_ctl -w -D data -l log -o "-k /tmp/pg -c listen_addresses=" start\'',
  );
}
