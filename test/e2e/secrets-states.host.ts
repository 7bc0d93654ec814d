import { expect, setDefaultTimeout, test } from "bun:test";
import { login, pushImage, registry, startDocker } from "../harness/docker-host.ts";
import { startMariadb, startPostgres } from "../harness/host-databases.ts";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

const image = `${registry}/base:1`;
const settings = `docker-registries: {"${registry}": ${JSON.stringify(login)}}`;
const mysql = "{connection_user: root}, {connection_pass: hush of root}";
// Every secret contains one word, which is searched for.
const secret = "hush";
const states = `
${image}:
  docker_image.present: []
web:
  docker_container.running: [{image: "${image}"}, {command: sleep 1000}, {environment: {TOKEN: hush of web}}, {labels: {key: hush of a label}}]
root:
  mysql_user.present: [{password: hush of root}, ${mysql}]
app:
  mysql_user.present: [{password: hush of app}, ${mysql}]
shop:
  mysql_database.present: [${mysql}]
app-shop:
  mysql_grants.present: [{grant: SELECT}, {database: shop.*}, {user: app}, ${mysql}]
seller:
  postgres_user.present: [{db_host: /tmp/pg}, {password: hush of seller}]
maker:
  postgres_user.present: [{db_host: /tmp/pg}, {db_user: admin}, {db_password: hush of admin}, {user: root}, {password: hush of maker}]
/etc/svc-test.ini:
  ini.options_present: [{sections: {database: {password: hush of ini}}}]
db/root:
  debconf.set: [{name: svc-test}, {data: {db/root: {type: password, value: hush of debconf}}}]
svc-test:
  user.present: [{password: "$6$hush$hush"}]
http://127.0.0.1:9418/repository:
  git.cloned: [{target: /srv/clone}, {https_user: builder}, {https_pass: hush of git}]
npm:
  npm.installed: [{name: svc-test}, {dir: /srv/npm}, {env: {NPM_CONFIG__AUTH: hush of npm, NPM_CONFIG_FETCH_RETRIES: "0"}}, {registry: "http://127.0.0.1:9"}]
`;

test("secrets of states reach no argument of a program, no result and no log", async () => {
  await using root = await openPrivateRoot({ systemd: true });
  await installPackages(root, "trace");
  await startDocker(root);
  await pushImage(root, image, "secrets");
  await installPackages(root, "mysql");
  await startMariadb(root);
  await startPostgres(root);
  const psql = "setpriv --reuid postgres --regid postgres --clear-groups psql -q -h /tmp/pg";
  // The setup itself must not write what is searched for.
  const prepare = `set -e
mariadb -e "SET sql_log_off = 1; ALTER USER root@localhost IDENTIFIED BY 'hush of root'"
${psql} -c "SET log_statement = none" -c "CREATE ROLE admin SUPERUSER LOGIN PASSWORD 'hush of admin'"
echo 'local all postgres peer
local all all scram-sha-256' >/tmp/pg/data/pg_hba.conf
${psql} -c 'ALTER SYSTEM SET log_statement = "all"' -c 'SELECT pg_reload_conf()' >/dev/null
install -m 600 /dev/null /etc/svc-test.ini
mkdir -p /srv/npm`;
  expect(await output(root, prepare)).toBe("");

  for (const test of [true, false]) {
    const trace = [
      "strace",
      "-f",
      "-qq",
      "-e",
      "trace=execve",
      "-e",
      "signal=none",
      "-s",
      "65536",
      "-o",
      "/tmp/trace",
    ];
    const results = await root.apply(states, { test, settings, through: trace });
    const failed = results.filter(({ result }) => result === false).map(({ id }) => id);
    // There is no repository and no registry of npm: their errors are looked at, too.
    expect(failed).toEqual(test ? [] : [expect.stringContaining("127.0.0.1:9418"), "npm"]);
    expect(JSON.stringify(results)).not.toContain(secret);
    const ran = await output(root, 'grep -o \'execve("[^"]*"\' /tmp/trace | sort -u');
    if (!test)
      for (const program of ["mariadb", "psql", "debconf-set-selections", "git", "npm"])
        expect(ran).toContain(`/${program}"`);
    expect(await output(root, `grep ${secret} /tmp/trace`)).toBe("");
  }
  // What the states should do is done.
  expect(await output(root, "MYSQL_PWD='hush of app' mariadb -u app -N -e 'SELECT CURRENT_USER()'")).toBe(
    "app@localhost",
  );
  expect(
    await output(
      root,
      "PGPASSWORD='hush of maker' psql -h /tmp/pg -U maker -Atc 'SELECT CURRENT_USER' postgres",
    ),
  ).toBe("maker");
  expect(await output(root, "cat /etc/svc-test.ini; docker exec web sh -c 'echo $TOKEN'")).toContain(
    "hush of web",
  );
  const logs = "journalctl --no-pager -o cat; cat /tmp/mysql/log /tmp/mysql/errors /tmp/pg/log";
  expect(await output(root, `(${logs}) | grep -c 'CREATE ROLE'`)).not.toBe("0");
  expect(await output(root, `(${logs}) | grep ${secret}`)).toBe("");
});
