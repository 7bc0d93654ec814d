import { expect, setDefaultTimeout, test } from "bun:test";
import { startMariadb, startPostgres } from "../harness/host-databases.ts";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

const server = "db_host: /tmp/pg";

test("roles, databases, schemas, extensions and privileges of PostgreSQL", async () => {
  await using root = await openPrivateRoot();
  await startPostgres(root);
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
  const probe = `${psql} -c "SELECT rolname, rolcreatedb, rolcanlogin FROM pg_roles WHERE rolname !~ '^pg_'" -c "SELECT datname, pg_get_userbyid(datdba), datacl FROM pg_database"`;
  const all = (ids: string, result: string) => ids.replace(/\S+/g, (id) => `${id}:${result}`);
  const made = "crew app shop goods crypto reader use-goods connect";
  const removed = "connect use-goods crypto goods shop reader app crew";
  const before = await output(root, probe);
  expect(await brief(root, there, { test: true })).toBe(all(made, "null+"));
  expect(await output(root, probe)).toBe(before);
  const applied = await root.apply(there);
  expect(JSON.stringify(applied)).not.toContain("secret");
  expect(applied.map(({ result, comment }) => (result === true ? "" : comment)).join("")).toBe("");
  expect(await output(root, probe)).toContain("shop|app|{=Tc/app,app=CTc/app,reader=Tc/app}");
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
  expect(await output(root, probe)).toBe(before);
});

test("users, databases and privileges of MariaDB, and logins with the passwords that states set", async () => {
  await using root = await openPrivateRoot();
  await installPackages(root, "mysql");
  await startMariadb(root);
  const there = `
shop:
  mysql_database.present: [{ character_set: utf8mb4 }, { collate: utf8mb4_bin }]
my_shop:
  mysql_database.present: []
app:
  mysql_user.present: [{ password: it's \\ "secret" }]
number:
  mysql_user.present: [{ password: 12345 }]
hash:
  mysql_user.present: [{ password_hash: "*2470c0c06dee42fd1618bb99005adca2ec9d1e19" }]
anywhere:
  mysql_user.present: [{ host: "%" }, { password: secret }]
expired:
  mysql_user.present: [{ password: secret }]
socket:
  mysql_user.present: [{ password: secret }]
daemon:
  mysql_user.present: [{ unix_socket: true }]
app-shop:
  mysql_grants.present: [{ grant: "SELECT,INSERT" }, { database: shop.* }, { user: app }]
app-all:
  mysql_grants.present: [{ grant: ALL }, { database: my_shop.* }, { user: app }, { grant_option: true }]
`;
  const made = "shop my_shop app number hash anywhere expired socket daemon app-shop app-all";
  const all = (ids: string, result: string) => ids.replace(/\S+/g, (id) => `${id}:${result}`);
  const sql = (statement: string) => output(root, `mariadb -N -e ${quoted(statement)}`);
  const login = (user: string, password: string) =>
    output(root, `MYSQL_PWD=${quoted(password)} mariadb --user=${user} -N -e 'SELECT CURRENT_USER()'`);
  await sql("CREATE USER expired@localhost IDENTIFIED BY 'secret' PASSWORD EXPIRE");
  await sql("CREATE USER socket@localhost IDENTIFIED VIA unix_socket");
  const probe = "SELECT User, Host, plugin, authentication_string FROM mysql.user; SHOW DATABASES";
  const before = await sql(probe);
  expect(await brief(root, there, { test: true })).toBe(all(made, "null+"));
  expect(await sql(probe)).toBe(before);
  const applied = await root.apply(there);
  expect(JSON.stringify(applied)).not.toContain("secret");
  expect(applied.filter(({ result }) => result !== true)).toEqual([]);
  expect(await brief(root, there)).toBe(all(made, "true"));
  expect(await login("app", 'it\'s \\ "secret"')).toBe("app@localhost");
  expect(await login("number", "12345")).toBe("number@localhost");
  expect(await login("hash", "password")).toBe("hash@localhost");
  expect(await login("expired", "secret")).toBe("expired@localhost");
  expect(await login("socket", "secret")).toBe("socket@localhost");
  expect(await login("app", "another")).toContain("Access denied");
  // The server logs each statement. The one with the password is of this test.
  expect(await output(root, "grep -c secret /tmp/mysql/log")).toBe("1");
  // `_` in the name of a database is not a pattern.
  expect(await sql("SHOW GRANTS FOR app@localhost")).toContain(
    "ON `my\\\\_shop`.* TO `app`@`localhost` WITH GRANT OPTION",
  );

  // The server was made with anonymous users, as mariadb-install-db does it: they hide users of any host.
  expect(await login("anywhere", "secret")).toContain("Access denied");
  const hidden = applied.find(({ id }) => id === "anywhere")?.comment;
  expect(hidden).toContain("from localhost");
  const removed = "nobody:\n  mysql_user.absent: [{ name: '' }, { host: localhost }]\n";
  expect(await brief(root, removed, { test: true })).toBe("nobody:null+");
  expect(await brief(root, removed)).toBe("nobody:true+");
  expect(await brief(root, removed)).toBe("nobody:true");
  expect(await login("anywhere", "secret")).toBe("anywhere@%");

  const changed = there.replace('it\'s \\ "secret"', "another").replace("SELECT,INSERT", "SELECT");
  expect(await brief(root, changed)).toBe(all(made, "true").replace("app:true", "app:true+"));
  expect(await login("app", "another")).toBe("app@localhost");
  const own = "root:\n  mysql_user.present: [{ password: secret }]\n";
  const withPassword = "{ connection_user: root }, { connection_pass: secret }";
  expect(await brief(root, own)).toBe("root:true+");
  // The session of the peel itself is not affected by it: it says who it is.
  expect(await brief(root, own.replace("secret }]", `secret }, ${withPassword}]`))).toBe("root:true");
  const [refused] = await root.apply(own);
  expect(refused).toMatchObject({ result: false, comment: expect.stringContaining("Access denied") });
  const gone = `
app-shop:
  mysql_grants.absent: [{ grant: ALL }, { database: shop.* }, { user: app }, ${withPassword}]
app:
  mysql_user.absent: [${withPassword}]
shop:
  mysql_database.absent: [${withPassword}]
`;
  expect(await brief(root, gone, { test: true })).toBe(all("app-shop app shop", "null+"));
  expect(await brief(root, gone)).toBe(all("app-shop app shop", "true+"));
  expect(await brief(root, gone)).toBe(all("app-shop app shop", "true"));
});

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
