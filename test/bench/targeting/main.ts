import { cpus, hostname, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { encode, type Plain } from "../../../internal/base/msgpack.ts";
import type { Bucket } from "../../../internal/bus/storage/bucket.ts";
import { createFleetIndex } from "../../../internal/fleet/targeting/fleet-index.ts";
import { builtinFacts, collectFacts } from "../../../internal/host/facts/collect.ts";
import { systemHost } from "../../../internal/host/facts/host.ts";
import { expandGroups, readGroups } from "../../../internal/tree/targets/groups.ts";
import { parseTarget } from "../../../internal/tree/targets/parse.ts";
import { recordingLog } from "../../harness/log.ts";
import { resolveAtOnce } from "../../harness/targets.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, ratio, table } from "../table.ts";

// How long a target takes over the index of a large fleet, and what that index weighs. A target is parsed,
// compiled and asked of every member each time, as a request does it. The floor is a bare loop over the
// same ids with one String.startsWith each, in turns within the same run.

const flags = readFlags({ peels: ["50000", "200"], rounds: ["11", "1"] });
const peels = flags.count("peels");
const rounds = flags.count("rounds");
const clock = systemClock;

const roles = ["web", "db", "cache", "queue", "mail"];
const systems: Record<string, Plain>[] = [
  { os: "Debian", os_family: "Debian", osrelease: "12" },
  { os: "Ubuntu", os_family: "Debian", osrelease: "24.04" },
  { os: "Rocky", os_family: "RedHat", osrelease: "9.4" },
  { os: "SUSE", os_family: "Suse", osrelease: "15.6" },
];
const ids = Array.from({ length: peels }, (_, i) => `${roles[i % 5]}-${i}_dc${i % 7}_example_com`).sort();
/** The facts of this machine. Every peel has them with its own names, numbers and addresses. */
const template = (await collectFacts(builtinFacts, systemHost(hostname(), {}), clock)).facts;

function factsOf(at: number): Plain {
  const mac = `02:00:00:${[16, 8, 0].map((shift) => ((at >> shift) & 255).toString(16).padStart(2, "0")).join(":")}`;
  const address = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
  return {
    ...template,
    ...systems[at % systems.length],
    host: `host-${at}`,
    fqdn: `host-${at}.dc${at % 7}.example.com`,
    domain: `dc${at % 7}.example.com`,
    ipv4: ["127.0.0.1", address],
    ip_interfaces: { eth0: [address], lo: ["127.0.0.1"] },
    ip4_interfaces: { eth0: [address], lo: ["127.0.0.1"] },
    hwaddr_interfaces: { eth0: mac, lo: "00:00:00:00:00:00" },
    machine_id: mac.replaceAll(":", "").padStart(32, "0"),
    boot_id: mac.replaceAll(":", "").padEnd(32, "0"),
    roles: [roles[at % 5] ?? "", "base"],
    cloud: { zone: `eu-${at % 3}`, tags: { env: at % 10 === 0 ? "test" : "production" } },
  };
}

/** A bucket that holds one value per peel and makes each when it is read, so that none of them stays. */
function bucketOf(make: (at: number) => Uint8Array): Pick<Bucket, "watch"> {
  return {
    watch(onChange) {
      for (const [at, key] of ids.entries()) {
        onChange({ key, value: make(at), revision: at + 1, storedAt: clock.now() });
      }
      return { ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} };
    },
  };
}

const memory = () => {
  Bun.gc(true);
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
};
let encodedBytes = 0;
const before = memory();
const started = clock.monotonic();
const index = createFleetIndex({
  members: () => ids,
  facts: bucketOf((at) => {
    const value = encode(factsOf(at));
    encodedBytes += value.length;
    return value;
  }),
  heartbeats: bucketOf(() => new Uint8Array()),
  clock,
  log: recordingLog(),
});
await index.ready;
const loadedMs = clock.monotonic() - started;
const after = memory();

const groups = readGroups(
  "front: web-* or cache-*\ndebian: G@os_family:Debian\nours: N@front and N@debian\n",
  "groups",
);
const resolve = (text: string) => resolveAtOnce(expandGroups(parseTarget(text), groups), index).length;
const floor = "floor: startsWith over all ids";
const contenders: Record<string, () => number> = {
  [floor]: () => {
    const found: string[] = [];
    for (const id of ids) if (id.startsWith("web-")) found.push(id);
    return found.length;
  },
};
for (const text of [
  "*",
  "web-*",
  "web-1?*",
  "*dc3*",
  "E@(web|db)-[0-9]+\\.dc[1-3]\\.",
  `L@${ids
    .slice(0, 100)
    .join(",")
    .slice(0, 3_900)
    .replace(/,[^,]*$/, "")}`,
  "G@os:Debian",
  "G@ipv4:10.0.*",
  "G@cloud:tags:env:prod*",
  "P@osrelease:(12|24)",
  "N@ours",
  "G@os:Debian and (web-* or db-*)",
  "G@os_family:Debian and not G@cloud:tags:env:test and (web-* or P@fqdn:.*dc[12]\\.)",
]) {
  contenders[text.length > 60 && text.startsWith("L@") ? `L@... (${text.split(",").length} ids)` : text] =
    () => resolve(text);
}

const times = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
const counts = new Map<string, number>();
// Warm up: compiling on first use is not measured.
for (let round = -3; round < rounds; round++) {
  for (const [name, run] of Object.entries(contenders)) {
    const begun = clock.monotonic();
    counts.set(name, run());
    if (round >= 0) times.get(name)?.push(clock.monotonic() - begun);
  }
}

const medianOf = (name: string) => {
  const sorted = [...(times.get(name) ?? [])].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};
const rows = [...times].map(([name, all]) => [
  name,
  rate(counts.get(name) ?? 0),
  milliseconds(medianOf(name)),
  milliseconds(Math.max(...all)),
  name === floor ? "" : ratio(medianOf(name) / medianOf(floor)),
]);
const cpu = cpus();
const mib = 1024 * 1024;
process.stdout.write(`
Targets over ${peels} peels: parsed, compiled and asked of every member
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds, the lines in turns; medians

${table(["target", "peels found", "ms", "worst", "of the floor"], rows)}

The index: ${Object.keys(template).length} facts of this machine per peel, varied, ${rate(encodedBytes / peels)} bytes each on the bus

${table(
  ["", "MiB", "bytes per peel"],
  [
    ["on the bus", mebibytes(encodedBytes / mib), rate(encodedBytes / peels)],
    [
      "JavaScript heap, more than before",
      mebibytes((after.heapUsed - before.heapUsed) / mib),
      rate((after.heapUsed - before.heapUsed) / peels),
    ],
    [
      "resident memory, more than before",
      mebibytes((after.rss - before.rss) / mib),
      rate((after.rss - before.rss) / peels),
    ],
  ],
)}

Read in ${milliseconds(loadedMs / 1000)} s, ${rate((peels * 1000) / loadedMs)} peels per second, with making what is read
`);
