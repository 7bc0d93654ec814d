import { cpus, hostname, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { encode, type Plain } from "../../../internal/base/msgpack.ts";
import { fenceKey } from "../../../internal/bus/storage/fenced-writer.ts";
import { createSettingsController } from "../../../internal/fleet/settings/controller.ts";
import { trackSettings } from "../../../internal/fleet/settings/tracker.ts";
import { builtinFacts, collectFacts } from "../../../internal/host/facts/collect.ts";
import { systemHost } from "../../../internal/host/facts/host.ts";
import { deriveCurveKey } from "../../../internal/identity/curve.ts";
import { newKeyPair } from "../../../internal/identity/nkey.ts";
import { createCompilers, type SettingsCompiler } from "../../../internal/tree/settings/compile.ts";
import { createEnvelopeMaker } from "../../../internal/wire/settings-envelope.ts";
import { memoryBucket } from "../../harness/bucket.ts";
import { observedLog } from "../../harness/peel-connection.ts";
import { changingTree } from "../../harness/settings-tree.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, table } from "../table.ts";

// How long a master takes to compile, seal, sign and hand over the settings of a large fleet, and what that
// weighs. Everything runs as in a master, but the bucket is in memory: the bus is no part of the figures.

const flags = readFlags({ peels: ["10000", "20"], rounds: ["3", "1"] });
const peels = flags.count("peels");
const rounds = flags.count("rounds");
const clock = systemClock;
const roles = ["web", "db", "cache", "queue", "mail"];
const ids = Array.from({ length: peels }, (_, i) => `${roles[i % 5]}-${i}_dc${i % 7}_example_com`).sort();
const template = (await collectFacts(builtinFacts, systemHost(hostname(), {}), clock)).facts;

function factsOf(at: number): Plain {
  const address = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
  return {
    ...template,
    host: `host-${at}`,
    ipv4: ["127.0.0.1", address],
    roles: [roles[at % 5] ?? "", "base"],
  };
}

/** 20 files: a top file, seven plain ones, twelve templates. Most of what a peel has is shared by many. */
function files(change = 0): Record<string, string> {
  const texts: Record<string, string> = {
    "top.sls": [
      "base:",
      "  '*': [common, users, network, ntp]",
      ...roles.map((role) => `  '${role}-*': [${role}]`),
      ...Array.from({ length: 7 }, (_, dc) => `  '*_dc${dc}_*': [dc.dc${dc}]`),
    ].join("\n"),
    "common.sls": `# ${change}\nlevel: ${change}\nowner: {team: shop, mail: shop@example.com}\nos: {{ facts.os }}\n`,
    "users.sls": `users:\n${Array.from({ length: 20 }, (_, i) => `  user${i}: {uid: ${1000 + i}, shell: /bin/sh}`).join("\n")}\n`,
    "network.sls": "address: {{ facts.ipv4[1] }}\nhostname: {{ id }}\n",
    "ntp.sls": "ntp: {servers: [a.example.com, b.example.com]}\n",
    "lib.jinja": "{% macro service(name, port) %}{name: {{ name }}, port: {{ port }}}{% endmacro %}",
  };
  for (const [at, role] of roles.entries()) {
    texts[`${role}.sls`] = [
      ...(at % 2 === 0
        ? ["{% from 'lib.jinja' import service %}", `service: {{ service('${role}', ${8000 + at}) }}`]
        : []),
      "{% if facts.num_cpus > 1 %}",
      "workers: {{ facts.num_cpus * 2 }}",
      "{% endif %}",
      "limits:",
      "{% for n in range(10) %}",
      "  limit{{ n }}: {{ n * 100 }}",
      "{% endfor %}",
      `password: secret-of-${role}`,
    ].join("\n");
  }
  for (let dc = 0; dc < 7; dc++) {
    texts[`dc/dc${dc}.sls`] =
      `zone: {name: dc${dc}, gateway: 10.${dc}.0.1}\nresolvers: [10.${dc}.0.2, 10.${dc}.0.3]\n`;
  }
  texts["extra.sls"] = "unused: true\n";
  return texts;
}

const resident = () => {
  Bun.gc(true);
  return process.memoryUsage().rss / 1024 ** 2;
};
const command = newKeyPair("user", systemRandom);
const keys = new Map(ids.map((id) => [id, deriveCurveKey(newKeyPair("user", systemRandom)).publicKey]));
const facts = new Map(ids.map((id, at) => [id, encode(factsOf(at))]));
const bucket = memoryBucket();
const factListeners = new Set<(peelId: string) => void>();
const tree = changingTree(files());
const fleet = {
  members: () => ids,
  isMember: (peelId: string) => keys.has(peelId),
  labelsOf: () => undefined,
  onMember: () => () => {},
  onFacts: (run: (peelId: string) => void) => {
    factListeners.add(run);
    return () => factListeners.delete(run);
  },
  facts: async (peelId: string) => facts.get(peelId),
};
const compilers = createCompilers();
const known = new WeakMap<object, SettingsCompiler>();
const log = observedLog();
let done = 0;
let bytes = 0;

const envelopes = createEnvelopeMaker(command, systemRandom);
const begin = () => {
  const end = new AbortController();
  const tracker = trackSettings(tree, fleet);
  const controller = createSettingsController({
    peels: fleet,
    recipientOf: async (peelId) => keys.get(peelId),
    bucket,
    envelopes,
    hint: () => {},
    tree,
    tracker,
    compilerOf(of) {
      const compiler = known.get(of) ?? compilers(of);
      known.set(of, compiler);
      return compiler;
    },
    acquireWriter: async () => ({
      write: async (key, value) => {
        if (value === undefined || key === fenceKey) return 0;
        bytes += value.length;
        return bucket.put(key, value);
      },
    }),
    signer: command.publicKey,
    onRenewal: () => {
      done++;
    },
    clock,
    log,
  });
  return { serving: controller.serve({ token: 1, signal: end.signal }), end, tracker };
};

interface Figures {
  ms: number[];
  cpuMs: number[];
  compiled: number;
}
const figures = new Map<string, Figures>();
async function measure(name: string, act: () => void): Promise<void> {
  done = 0;
  const from = log.records.length;
  const started = clock.monotonic();
  const cpu = process.cpuUsage();
  act();
  await new Promise<void>((resolve) => {
    const check = (): void => {
      if (log.records.slice(from).some(({ event }) => event === "settings compiled")) resolve();
      else setImmediate(check);
    };
    check();
  });
  const used = process.cpuUsage(cpu);
  const all = figures.get(name) ?? { ms: [], cpuMs: [], compiled: 0 };
  all.ms.push(clock.monotonic() - started);
  all.cpuMs.push((used.user + used.system) / 1000);
  figures.set(name, { ...all, compiled: done });
}

// The floor: what sealing, signing and the digest cost alone, for as many bytes.
{
  const started = clock.monotonic();
  const cpu = process.cpuUsage();
  const settings = new Uint8Array(850);
  for (const [peelId, curvePublicKey] of keys) {
    const to = { peelId, curvePublicKey };
    envelopes.make(settings, to, { version: 1, digest: envelopes.digest(settings, to) });
  }
  const { user, system } = process.cpuUsage(cpu);
  figures.set("floor: digest, seal and sign alone", {
    ms: [clock.monotonic() - started],
    cpuMs: [(user + system) / 1000],
    compiled: peels,
  });
}
const before = resident();
let running: ReturnType<typeof begin> | undefined;
await measure("every peel for the first time", () => {
  running = begin();
});
const sealed = bytes / peels;
const after = resident();
for (let round = 1; round <= rounds; round++) {
  await measure("a file that all use", () => tree.become(files(round)));
  await measure("a file that one in seven uses", () =>
    tree.become({ ...files(round), "dc/dc3.sls": `zone: {name: dc3, gateway: 10.3.0.${round}}\n` }),
  );
  await measure("the facts of one peel", () => {
    const [peelId = ""] = ids;
    facts.set(peelId, encode({ ...(factsOf(0) as object), ipv4: ["127.0.0.1", `10.9.9.${round}`] }));
    for (const run of factListeners) run(peelId);
  });
  running?.end.abort();
  running?.tracker.stop();
  await running?.serving;
  await measure("another master takes over: all compiled, nothing written", () => {
    running = begin();
  });
}
running?.end.abort();
await running?.serving;
const last = resident();

const median = (all: number[]) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
const rows = [...figures].map(([name, { ms, cpuMs, compiled }]) => [
  name,
  rate(compiled),
  milliseconds(median(ms)),
  milliseconds(median(cpuMs)),
  milliseconds((median(cpuMs) * 1000) / Math.max(1, compiled)),
]);
const [cpu] = cpus();
process.stdout.write(`
Settings of ${peels} peels: compiled from ${Object.keys(files()).length} files, sealed, signed, stored in memory
${cpus().length} x ${cpu?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds; medians

${table(["what changed", "compiled", "ms", "processor ms", "us per peel"], rows)}

${table(
  ["resident MiB", ""],
  [
    ["before", mebibytes(before)],
    ["after the first time", mebibytes(after)],
    ["after the last round", mebibytes(last)],
  ],
)}

${rate(sealed)} bytes stored per peel, ${rate(facts.get(ids[0] ?? "")?.length ?? 0)} bytes of facts
`);
