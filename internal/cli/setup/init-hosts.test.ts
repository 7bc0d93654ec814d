import { afterAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { loadMasterConfig, loadOperatorConfig, loadPeelConfig } from "../../program/config/mod.ts";
import { initHosts } from "./init-hosts.ts";

const files = temporaryDirectory("setup-hosts");
afterAll(() => files[Symbol.dispose]());
const hosts = ["n1.example.com", "10.0.0.2", "n3.example.com"];
let count = 0;
const options = (dir = join(files.path, `fleet 100% ${++count}`)) => ({
  dir,
  hosts,
  hostname: "box",
  busPort: 4222,
  apiPort: 8443,
  routePort: 6222,
  organization: "Example",
  owner: "svc",
  programs: "/usr/bin",
  clock: systemClock,
  random: systemRandom,
});
const treeOf = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).map((entry) => ({
    path: relative(dir, join(entry.parentPath, entry.name)),
    isFile: entry.isFile(),
  }));

test("each host has what its master and its bus need, and no more", async () => {
  const made = await initHosts(options());
  const tree = treeOf(made.dir);
  const ofHost = (host: string) =>
    tree
      .filter(({ path }) => path.startsWith(`${host}/`))
      .map(({ path }) => path.slice(host.length + 1))
      .sort();
  for (const host of hosts) {
    expect(ofHost(host)).toEqual(ofHost(hosts[0] ?? ""));
    expect(
      ofHost(host).filter((path) =>
        /root\.key|operator\.seed|masters\.seed|recovery\.seed|admin|direct/.test(path),
      ),
    ).toEqual(["auth/administrators"]);
  }
  const seedOf = (host: string) => readFileSync(join(made.dir, host, "auth/settings.seed"), "utf8");
  expect(new Set(hosts.map(seedOf)).size).toBe(1);
  const secrets = tree.filter(({ path }) => /\.(?:seed|creds|key|token|operator|conf)$/.test(path));
  for (const { path } of secrets)
    expect([path, statSync(join(made.dir, path)).mode & 0o777]).toEqual([path, 0o600]);
  for (const { path, isFile } of tree) {
    const mode = statSync(join(made.dir, path)).mode & 0o777;
    if (!isFile) expect([path, mode]).toEqual([path, 0o700]);
    else if (mode !== 0o600) {
      expect(`${path}: ${readFileSync(join(made.dir, path), "utf8")}`).not.toMatch(
        /\bS[OAUX][A-Z2-7]{56}\b|PRIVATE KEY/,
      );
    }
  }
  expect(tree.filter(({ path }) => path.endsWith("root.key")).map(({ path }) => path)).toEqual([
    "offline/ca/root.key",
  ]);
});

test("the programs read what each host has, and every path is one of its own", async () => {
  const made = await initHosts(options());
  const urls = hosts.map((host) => `tls://${host}:4222`);
  const serials = new Set<string>();
  for (const { host, dir } of made.hosts) {
    const master = loadMasterConfig(["--config", join(dir, "master.yaml")], {});
    if (master.kind !== "run") throw new Error("it does not run");
    expect(master.values).toMatchObject({
      bus_url: "tls://localhost:4222",
      bus_advertise_urls: urls,
      auth_dir: join(dir, "auth"),
      embedded_bus_dir: join(dir, "bus"),
      "ca.enroll_sans": [host, "127.0.0.1"],
      "enroll.advertise_urls": hosts.map((one) => `https://${one}:8443`),
    });
    const bus = readFileSync(join(dir, "bus/nats-server.conf"), "utf8");
    expect(bus).toContain(`server_name: "${host}"`);
    expect(bus).toContain(`store_dir: ${JSON.stringify(join(dir, "bus/store"))}`);
    for (const other of hosts.filter((one) => one !== host)) {
      expect(bus).not.toContain(join(made.dir, other));
      expect(readFileSync(join(dir, "master.yaml"), "utf8")).not.toContain(join(made.dir, other));
    }
    const leaf = new X509Certificate(readFileSync(join(dir, "bus/nats-server.crt")));
    serials.add(leaf.serialNumber);
    expect(leaf.subjectAltName).toBe(
      "DNS:n1.example.com, IP Address:10.0.0.2, DNS:n3.example.com, DNS:localhost, IP Address:127.0.0.1",
    );
  }
  expect(serials.size).toBe(3);
  const svc = loadOperatorConfig({ configFlag: join(made.dir, "svc.yaml"), env: {}, home: "" });
  expect(svc).toMatchObject({
    "master.urls": urls,
    "master.operator_file": join(made.dir, "operator/svc.operator"),
    "master.tls_ca": join(made.dir, "peel/auth/bus-ca.crt"),
  });
  const peel = loadPeelConfig(["--config", join(made.dir, "peel.yaml")], {});
  if (peel.kind !== "run") throw new Error("it does not run");
  expect(peel.values).toMatchObject({
    master_url: "",
    master_urls: hosts.map((one) => `https://${one}:8443`),
  });
});

test("a directory with content is refused, an empty one is filled, and nothing is left next to it", async () => {
  const parent = join(files.path, `parent-${++count}`);
  mkdirSync(join(parent, "taken"), { recursive: true });
  writeFileSync(join(parent, "taken", "mine"), "mine");
  await expect(initHosts(options(join(parent, "taken")))).rejects.toThrow(
    "is not empty: choose another directory",
  );
  mkdirSync(join(parent, "empty"));
  await initHosts(options(join(parent, "empty")));
  writeFileSync(join(parent, "file"), "");
  await expect(initHosts(options(join(parent, "file")))).rejects.toThrow("is not a directory");
  const both = await Promise.allSettled([1, 2].map(() => initHosts(options(join(parent, "raced")))));
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(readdirSync(parent).sort()).toEqual(["empty", "file", "raced", "taken"]);
  expect(readdirSync(join(parent, "taken"))).toEqual(["mine"]);
});
