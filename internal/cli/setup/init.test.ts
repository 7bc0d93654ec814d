import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { checkPair } from "../../identity/ca/pair.ts";
import { loadMasterConfig, loadOperatorConfig, loadPeelConfig } from "../../program/config/mod.ts";
import { initFleet, type SetupOptions } from "./init.ts";

const files = temporaryDirectory("setup");
afterAll(() => files[Symbol.dispose]());
let count = 0;

function options(changes: Partial<SetupOptions> = {}): SetupOptions {
  return {
    dir: join(files.path, `fleet-${++count}`),
    hosts: [],
    hostname: "box",
    busPort: 4222,
    apiPort: 8443,
    organization: "Example",
    owner: "svc",
    programs: "/usr/bin",
    clock: systemClock,
    random: systemRandom,
    ...changes,
  };
}

/** Every file below a directory. */
function treeOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .sort();
}

test.each([
  ["2.15.1", true],
  ["2.10.0", true],
  ["2.9.10", false],
  [undefined, false],
])("the bus waits for the disk where its server can: %p", async (busVersion, waits) => {
  const { plan } = await initFleet(options(busVersion === undefined ? {} : { busVersion }));
  const written = readFileSync(plan.paths.busConfig, "utf8");
  expect(/^ {2}sync_interval: always$/m.test(written)).toBe(waits);
});

test("the files and their modes", async () => {
  const { plan, files: written } = await initFleet(options());
  const modes = Object.fromEntries(
    written.map(({ path, mode }) => {
      expect(statSync(path).mode & 0o777).toBe(mode);
      return [relative(plan.dir, path), mode.toString(8)];
    }),
  );
  expect(modes).toEqual({
    "auth/ca/root.key": "600",
    "auth/ca/intermediate.key": "600",
    "auth/ca/intermediate.crt": "644",
    "auth/ca/root.crt": "644",
    "auth/operator.seed": "600",
    "auth/operator.jwt": "644",
    "auth/operator-signing.seed": "600",
    "auth/account.jwt": "644",
    "auth/account.seed": "600",
    "auth/masters.jwt": "644",
    "auth/masters.seed": "600",
    "auth/masters-operators.seed": "600",
    "auth/administrators": "644",
    "auth/command.seed": "600",
    "auth/settings.seed": "600",
    "auth/system.jwt": "644",
    "auth/system.creds": "600",
    "auth/master.creds": "600",
    "auth/admin.creds": "600",
    "auth/direct.creds": "600",
    "auth/recovery.seed": "600",
    "auth/recovery.pub": "644",
    "bus/nats-server.conf": "600",
    "bus/nats-server.key": "600",
    "bus/nats-server.crt": "644",
    "bus/nats-ca.crt": "644",
    "peel/auth/bus-ca.crt": "644",
    "operator.token": "600",
    "operator/svc.operator": "600",
    "svc.yaml": "644",
    "peel.yaml": "644",
    "systemd/svc-master.service": "644",
    "systemd/svc-peel.service": "644",
    "master.yaml": "644",
  });
  expect(treeOf(plan.dir)).toEqual(Object.keys(modes).sort());
  for (const dir of ["", "auth", "auth/ca", "bus", "peel", "settings", "states", "systemd"]) {
    expect(statSync(join(plan.dir, dir)).mode & 0o777).toBe(0o700);
  }
});

test("one file that is there is named, and nothing is written", async () => {
  for (const name of ["master.yaml", "operator.token"]) {
    const given = options();
    await initFleet(given);
    const before = treeOf(given.dir).map((path) => readFileSync(join(given.dir, path), "utf8"));
    await expect(initFleet(given)).rejects.toThrow("auth/ca/root.key already exists and is not overwritten");
    expect(treeOf(given.dir).map((path) => readFileSync(join(given.dir, path), "utf8"))).toEqual(before);

    const other = temporaryDirectory("setup-taken");
    writeFileSync(join(other.path, name), "mine");
    await expect(initFleet(options({ dir: other.path }))).rejects.toThrow(
      `${join(other.path, name)} already exists and is not overwritten`,
    );
    expect(treeOf(other.path)).toEqual([name]);
    expect(readFileSync(join(other.path, name), "utf8")).toBe("mine");
    other[Symbol.dispose]();
  }
});

test("one file that cannot be written takes back all before it", async () => {
  const given = options();
  mkdirSync(given.dir);
  writeFileSync(join(given.dir, "systemd"), "in the way");
  await expect(initFleet(given)).rejects.toThrow(
    `cannot write ${join(given.dir, "systemd/svc-master.service")}: `,
  );
  expect(treeOf(given.dir)).toEqual(["systemd"]);
});

test("the programs can read the written files, which reference no path outside the directory", async () => {
  const { plan, pin } = await initFleet(options());
  const { dir, paths } = plan;
  const master = loadMasterConfig(["--config", paths.master], {});
  if (master.kind !== "run") throw new Error("it does not run");
  expect(master.values).toMatchObject({
    bus_url: "tls://localhost:4222",
    bus_ca: join(dir, "bus/nats-ca.crt"),
    embedded_bus: true,
    embedded_bus_dir: join(dir, "bus"),
    auth_dir: join(dir, "auth"),
    decisions_log: join(dir, "decisions.log"),
    roles_file: join(dir, "roles.yaml"),
    settings_dir: join(dir, "settings"),
    states_dir: join(dir, "states"),
    "reactor.dir": join(dir, "reactor"),
    bus_advertise_urls: [],
    "enroll.addr": { host: "127.0.0.1", port: 8443 },
    "ca.mode": "embedded",
    "ca.dir": join(dir, "auth/ca"),
    "api.tokens": [{ username: "operator", token_file: join(dir, "operator.token") }],
  });
  const peel = loadPeelConfig(["--config", paths.peel], { SVC_DATA_DIR: paths.peelData });
  if (peel.kind !== "run") throw new Error("it does not run");
  expect(peel.values).toMatchObject({
    bus_url: "tls://localhost:4222",
    master_url: "https://localhost:8443",
    enroll_ca_pin: [pin],
  });
  expect(loadOperatorConfig({ configFlag: paths.operator, env: {}, home: "" })).toMatchObject({
    "master.urls": ["tls://localhost:4222"],
    "master.creds_file": "",
    "master.operator_file": join(dir, "operator/svc.operator"),
    "master.tls_ca": join(dir, "bus/nats-ca.crt"),
  });
  expect(readFileSync(paths.token, "utf8")).toMatch(/^[\w-]{43}\n$/);
  const pair = { cert: readFileSync(paths.busCert, "utf8"), key: readFileSync(paths.busKey, "utf8") };
  checkPair(pair, { cert: "cert", key: "key" }, systemClock.now());
});

test("world-readable files contain no secrets", async () => {
  const { files: written } = await initFleet(options());
  for (const { path, mode } of written.filter(({ mode }) => mode !== 0o600)) {
    expect(`${path}: ${readFileSync(path, "utf8")}`).not.toMatch(/\bS[OAUX][A-Z2-7]{56}\b|PRIVATE KEY/);
    expect(mode).toBe(0o644);
  }
});

test("names for other hosts open the fleet to them", async () => {
  const { plan } = await initFleet(options({ hosts: ["svc.example.com", "10.0.0.5"] }));
  const master = loadMasterConfig(["--config", plan.paths.master], {});
  if (master.kind !== "run") throw new Error("it does not run");
  expect(master.values).toMatchObject({
    bus_url: "tls://localhost:4222",
    bus_advertise_urls: ["tls://svc.example.com:4222"],
    "enroll.addr": { host: "", port: 8443 },
    "ca.enroll_sans": ["svc.example.com", "10.0.0.5", "127.0.0.1"],
  });
  const peel = loadPeelConfig(["--config", plan.paths.peel], {});
  if (peel.kind !== "run") throw new Error("it does not run");
  expect(peel.values).toMatchObject({ bus_url: "", master_url: "https://svc.example.com:8443" });
  expect(readFileSync(plan.paths.busConfig, "utf8")).toContain('\nlisten: "0.0.0.0:4222"\n');
});

test("a path with blanks, quotes and percent signs stays one path everywhere", async () => {
  const dir = join(files.path, `a "b" 100% $c`);
  const { plan } = await initFleet(options({ dir }));
  const master = loadMasterConfig(["--config", plan.paths.master], {});
  if (master.kind !== "run") throw new Error("it does not run");
  expect(master.values.auth_dir).toBe(join(dir, "auth"));
  const unit = readFileSync(plan.paths.masterUnit, "utf8");
  const inUnit = `${files.path}/a \\"b\\" 100%% $c`;
  expect(unit).toContain(
    `\nExecStart=/usr/bin/svc-master --config "${inUnit.replace("$", "$$$$")}/master.yaml"\n`,
  );
  expect(unit).toContain(`\nEnvironment="SVC_DATA_DIR=${inUnit}"\n`);
  expect(unit).toContain(`\nReadWritePaths="${inUnit}"\n`);
});
