import { expect, setDefaultTimeout, test } from "bun:test";
import { openPrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(60_000);

const server = "db_host: /tmp/pg";

test("roles, databases, schemas, extensions and privileges of PostgreSQL", async () => {
  await using root = await openPrivateRoot();
  await output(
    root,
    "mkdir /tmp/pg && chown postgres /tmp/pg && cd /tmp/pg && export PATH=$PATH:$(pg_config --bindir) && " +
      "setpriv --reuid postgres --regid postgres --clear-groups sh -c 'initdb -A peer -D data >/dev/null && " +
      'pg_ctl -w -D data -l log -o "-k /tmp/pg -c listen_addresses=" start\'',
  );
  const there = `
crew:
  postgres_group.present: [{ ${server} }]
app:
  postgres_user.present:
    - ${server}
    - password: it's secret
    - createdb: true
    - groups: [crew]
shop:
  postgres_database.present:
    - ${server}
    - owner: app
    - encoding: UTF8
    - template: template0
goods:
  postgres_schema.present:
    - ${server}
    - dbname: shop
    - owner: app
crypto:
  postgres_extension.present:
    - ${server}
    - name: pgcrypto
    - maintenance_db: shop
    - schema: goods
reader:
  postgres_user.present: [{ ${server} }, { login: false }]
use-goods:
  postgres_privileges.present:
    - ${server}
    - name: reader
    - maintenance_db: shop
    - object_name: goods
    - object_type: schema
    - privileges: [USAGE]
connect:
  postgres_privileges.present:
    - ${server}
    - name: reader
    - object_name: shop
    - object_type: database
    - privileges: [CONNECT, TEMP]
`;
  const gone = `
connect:
  postgres_privileges.absent:
    - ${server}
    - name: reader
    - object_name: shop
    - object_type: database
use-goods:
  postgres_privileges.absent:
    - ${server}
    - name: reader
    - maintenance_db: shop
    - object_name: goods
    - object_type: schema
crypto:
  postgres_extension.absent: [{ ${server} }, { name: pgcrypto }, { maintenance_db: shop }]
goods:
  postgres_schema.absent: [{ ${server} }, { dbname: shop }]
shop:
  postgres_database.absent: [{ ${server} }]
reader:
  postgres_user.absent: [{ ${server} }]
app:
  postgres_user.absent: [{ ${server} }]
crew:
  postgres_group.absent: [{ ${server} }]
`;
  const psql = "setpriv --reuid postgres --regid postgres --clear-groups psql -h /tmp/pg -X -A -t postgres";
  const look = `${psql} -c "SELECT rolname, rolcreatedb, rolcanlogin FROM pg_roles WHERE rolname !~ '^pg_'" -c "SELECT datname, pg_get_userbyid(datdba), datacl FROM pg_database"`;
  const all = (ids: string, result: string) => ids.replace(/\S+/g, (id) => `${id}:${result}`);
  const made = "crew app shop goods crypto reader use-goods connect";
  const removed = "connect use-goods crypto goods shop reader app crew";
  const before = await output(root, look);
  expect(await brief(root, there, { test: true })).toBe(all(made, "null+"));
  expect(await output(root, look)).toBe(before);
  const applied = await root.apply(there);
  expect(JSON.stringify(applied)).not.toContain("secret");
  expect(applied.map(({ result, comment }) => (result === true ? "" : comment)).join("")).toBe("");
  expect(await output(root, look)).toContain("shop|app|{=Tc/app,app=CTc/app,reader=Tc/app}");
  expect(await brief(root, there)).toBe(all(made, "true"));
  // The password reaches the server only as it stores it.
  const login = "PGPASSWORD=\"it's secret\" psql -h /tmp/pg -U app -X -A -t shop -c 'SELECT 1'";
  await output(
    root,
    `echo 'local all all scram-sha-256' > /tmp/pg/data/pg_hba.conf; ${psql} -c 'SELECT pg_reload_conf()'`,
  );
  expect(await output(root, login)).toBe("1");
  expect(await output(root, "grep -c secret /tmp/pg/log")).toBe("0");
  await output(
    root,
    `sed -i s/scram-sha-256/trust/ /tmp/pg/data/pg_hba.conf; kill -HUP $(head -1 /tmp/pg/data/postmaster.pid)`,
  );
  expect(await brief(root, gone, { test: true })).toBe(all(removed, "null+"));
  expect(await brief(root, gone)).toBe(all(removed, "true+"));
  expect(await brief(root, gone, { test: true })).toContain("shop:true ");
  expect(await output(root, look)).toBe(before);
});
