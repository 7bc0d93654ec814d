import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { binaries, type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { runProgram, startProgram } from "../harness/process.ts";
import { storePeels } from "../harness/stored-peels.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// What other tools make of the fleet: a real Prometheus and a real Ansible (`make exports`).

setDefaultTimeout(120_000);

const tools = join(import.meta.dir, "../../.tools/bin");
let bus: TestBus;
let master: MasterDaemon;
/** A file that a template would make, if Ansible ran one that a peel sent. */
let made: string;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  made = join(bus.dir, "made-by-a-template");
  const evil = `{{ lookup('pipe', 'touch ${made}') }}`;
  await storePeels(bus, {
    "db-1": {
      address: "2001:db8::7",
      facts: { os: "Debian", "a\nb": "c", roles: ["web", evil], note: evil },
    },
    "web-1_example": { address: "192.0.2.7", labels: { env: "prod" }, facts: { os: "Ubuntu\n", efi: true } },
  });
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("Prometheus discovers the peels, with a token file and the CA of the fleet", async () => {
  const [port = 0] = await freePorts(1);
  const config = join(bus.dir, "prometheus.yml");
  const query = "port=9256&fact=os&fact=roles";
  writeFileSync(
    config,
    `scrape_configs:
  - job_name: peels
    scrape_interval: 1h
    http_sd_configs:
      - url: ${master.url}/api/v1/prometheus/targets?${query}
        authorization: {type: Bearer, credentials_file: ${join(master.dir, "token")}}
        tls_config: {ca_file: ${bus.caFile}}
        refresh_interval: 1s
    relabel_configs:
      - {source_labels: [__meta_svc_peel], target_label: instance}
      - {source_labels: [__meta_svc_label_env], target_label: env}
`,
  );
  const checked = await runProgram([join(tools, "promtool"), "check", "config", config]);
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining("SUCCESS")]);
  await using prometheus = startProgram(
    [
      ...[join(tools, "prometheus"), `--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`],
      ...[`--storage.tsdb.path=${join(bus.dir, "tsdb")}`],
    ],
    { cwd: bus.dir },
  );
  await prometheus.waitFor("Server is ready to receive web requests");
  interface Target {
    scrapeUrl: string;
    labels: Record<string, string>;
    discoveredLabels: Record<string, string>;
  }
  const found = await until(
    async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/api/v1/targets?state=active`);
      return ((await reply.json()) as { data: { activeTargets: Target[] } }).data.activeTargets;
    },
    (targets) => targets.length === 2,
  );
  const byPeel = new Map(found.map((target) => [target.labels.instance, target]));
  expect(byPeel.get("db-1")?.scrapeUrl).toBe("http://[2001:db8::7]:9256/metrics");
  expect(byPeel.get("db-1")?.discoveredLabels).toMatchObject({ __meta_svc_fact_os: "Debian" });
  expect(byPeel.get("web-1.example")).toMatchObject({
    scrapeUrl: "http://192.0.2.7:9256/metrics",
    labels: { env: "prod" },
    discoveredLabels: { __meta_svc_fact_os: "Ubuntu\uFFFD" },
  });
});

test("Ansible reads the inventory, and runs no template that a peel sent", async () => {
  const script = join(bus.dir, "svc-inventory");
  const words = `peels list --output ansible --facts os,roles,note,efi`;
  writeFileSync(script, `#!/bin/sh\nexec ${binaries.cli} --config ${operatorConfig(bus)} ${words} "$@"\n`);
  chmodSync(script, 0o755);
  const ansible = async (name: string, ...args: string[]) => {
    const env = { ANSIBLE_LOCAL_TEMP: join(bus.dir, "ansible"), ANSIBLE_HOME: join(bus.dir, "ansible-home") };
    const all = ["env", ...Object.entries(env).map(([key, value]) => `${key}=${value}`)];
    const ran = await runProgram([...all, join(tools, name), "-i", script, ...args]);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    return ran.stdout;
  };
  const graph = await ansible("ansible-inventory", "--graph");
  for (const line of ["@fact_os_Debian:", "@fact_efi_true:", "@label_env_prod:", "  |--web-1.example"]) {
    expect(graph).toContain(line);
  }
  const list = JSON.parse(await ansible("ansible-inventory", "--list"));
  expect(list._meta.hostvars["db-1"]).toMatchObject({
    ansible_host: "2001:db8::7",
    svc_facts: { os: "Debian" },
  });
  expect(JSON.parse(await ansible("ansible-inventory", "--host", "web-1.example")).svc_labels).toEqual({
    env: "prod",
  });
  const message = JSON.stringify({ msg: "{{ svc_facts.note }} {{ svc_facts.roles }}" });
  const shown = await ansible("ansible", "db-1", "-c", "local", "-m", "debug", "-a", message);
  expect(shown).toContain("lookup('pipe'");
  expect(existsSync(made)).toBe(false);
});
