import { rfc3339, systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { decode, encode } from "../../../internal/base/msgpack.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { decodeRecord, encodeRecord } from "../../../internal/fleet/enrollment/record/record.ts";
import { encodeJwt } from "../../../internal/identity/jwt.ts";
import { newKeyPair, verifySignature } from "../../../internal/identity/nkey.ts";
import { renewalMessage } from "../../../internal/wire/enrollment-messages.ts";
import { enlist, mintMember, peelsAccountKey } from "../../fleet/credentials.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { rate, ratio, table } from "../table.ts";

// Renewals per second of one master, next to the same work without a master: verify a signature, sign a JWT, and
// one compare-and-swap. See docs/bench.md.

const flags = readFlags({ peels: ["2000", "8"], rounds: ["3", "1"], concurrency: ["64", "4"] });
const size = flags.count("peels");

await using bus = await startBus();
await using started = await startMasterBinary(bus);
const { pid } = started.program;
const client = await connectTo(bus, "master");
const account = peelsAccountKey(bus.authDir);
const members = Array.from({ length: size }, (_, at) => mintMember(`sim-${at}`, account));
await enlist(client, bus.authDir, members);
const enrollments = await openBucket(client, "enrollments");
const ids = new Map<string, string>();
for (const { key, value } of await enrollments.entries()) {
  if (!key.startsWith("peel.")) ids.set(decodeRecord(value).peelId, key);
}
const current = new Map(members.map(({ peelId, key }) => [peelId, key.publicKey]));

// The floor has records of its own, of the same size.
await client.nats.jetstream().views.kv("floor");
const floorRecords = await openBucket(client, "floor");
const [sample] = [...ids.values()];
const entry = await enrollments.get(sample ?? "");
if (entry === undefined) throw new Error("no record");
const record = decodeRecord(entry.value);
const revisions = new Map<string, number>();
for (const { peelId } of members) {
  const revision = await floorRecords.create(`floor-${peelId}`, encodeRecord(record));
  revisions.set(peelId, revision ?? 0);
}

/** Requests that were signed before the measurement. */
function signAll() {
  return members.map(({ peelId, key }) => {
    const to = newKeyPair("user", systemRandom).publicKey;
    const fields = {
      ...{ enrollmentId: ids.get(peelId) ?? "", renews: current.get(peelId) ?? "" },
      ...{ busPublicKey: to, signedAt: rfc3339(systemClock.now()) },
    };
    const message = renewalMessage(fields);
    const signature = key.sign(message);
    const bytes = encode({
      ...{ enrollment_id: fields.enrollmentId, renews: fields.renews, bus_public_key: to },
      ...{ signed_at: fields.signedAt, signature },
    });
    return { peelId, publicKey: key.publicKey, to, message, signature, bytes };
  });
}
type Signed = ReturnType<typeof signAll>[number];

async function renewOne({ peelId, to, bytes }: Signed): Promise<void> {
  const answer = await client.nats.request(`svc.peel.${peelId}.renew`, bytes, { timeout: 20_000 });
  const reported = decode(answer.data) as { ok: boolean; error?: unknown };
  if (!reported.ok) throw new Error(JSON.stringify(reported.error));
  current.set(peelId, to);
}

async function floorOne({ peelId, publicKey, to, message, signature }: Signed): Promise<void> {
  if (!verifySignature("user", publicKey, message, signature)) throw new Error("not signed");
  const issuedAt = Math.floor(systemClock.now() / 1000);
  encodeJwt({ type: "user", name: peelId, subject: to, issuedAt, nats: {} }, account);
  const next = encodeRecord({ ...record, busPublicKey: to });
  const revision = await floorRecords.update(`floor-${peelId}`, next, revisions.get(peelId) ?? 0);
  if (revision === undefined) throw new Error("a compare-and-swap was lost");
  revisions.set(peelId, revision);
}

/** Renewals per second, and processor milliseconds of the process that does the work for each. */
async function measure(
  one: (signed: Signed) => Promise<void>,
  worker: number,
): Promise<{ rate: number; cpuMs: number }> {
  const waiting = signAll();
  const cpuSeconds = cpuSecondsOf(worker);
  const began = systemClock.monotonic();
  const lane = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await one(next);
  };
  await Promise.all(Array.from({ length: flags.count("concurrency") }, lane));
  return {
    rate: (size * 1000) / (systemClock.monotonic() - began),
    cpuMs: ((cpuSecondsOf(worker) - cpuSeconds) * 1000) / size,
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;
const rounds = { master: [] as Measured[], floor: [] as Measured[] };
for (let round = 0; round < flags.count("rounds"); round++) {
  rounds.floor.push(await measure(floorOne, process.pid));
  rounds.master.push(await measure(renewOne, pid));
}
await client.nats.close();
const of = (name: keyof typeof rounds) => ({
  rate: median(rounds[name].map(({ rate }) => rate)),
  cpuMs: median(rounds[name].map(({ cpuMs }) => cpuMs)).toFixed(2),
});
const [floor, master] = [of("floor"), of("master")];
process.stdout.write(`
${size} peels renew once in each round, ${flags.count("concurrency")} at a time, medians:

${table(
  ["", "renewals/s", "of the floor", "server ms"],
  [
    ["one master", rate(master.rate), ratio(master.rate / floor.rate), master.cpuMs],
    ["floor: verify, sign, one compare-and-swap", rate(floor.rate), ratio(1), floor.cpuMs],
  ],
)}
`);
