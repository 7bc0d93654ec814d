import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { fetchDocument } from "../../../internal/agent/joining/fetch-document.ts";
import { createMasterClient } from "../../../internal/agent/joining/master-client.ts";
import { createCommandKeys } from "../../../internal/agent/trust/command-keys.ts";
import { createRecoveryKeys } from "../../../internal/agent/trust/recovery-keys.ts";
import { createRoots } from "../../../internal/agent/trust/roots.ts";
import { encodeBase64 } from "../../../internal/base/base64.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { mapBounded } from "../../../internal/base/map-bounded.ts";
import { createDocument, rotationMessage } from "../../../internal/identity/bootstrap/mod.ts";
import {
  activateRotation,
  createAuthority,
  finishRotation,
  issueCertificate,
  loadInForce,
  startRotation,
} from "../../../internal/identity/ca/mod.ts";
import { newKeyPair } from "../../../internal/identity/mod.ts";
import { createTrust, exchange } from "../../../internal/identity/trust/mod.ts";
import { recordingLog } from "../../harness/log.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, rate, ratio, table } from "../table.ts";

// A fleet replaces its root: each peel fetches the document after start and after finish, over TLS that its own
// root verifies, checks the statement, and replaces its two files on disk. Beside it the floor: the same fetch, with
// a fresh connection and nothing done with the answer. The spread over time that peels choose is left out.

const flags = readFlags({ peels: ["1000", "4"], parallel: ["16", "2"] });
const count = flags.count("peels");
const parallel = flags.count("parallel");
const clock = systemClock;
const random = systemRandom;
const year = 365 * 86_400_000;

using files = temporaryDirectory("bench-ca-rotate");
const ca = join(files.path, "ca");
const key = newKeyPair("user", random);
await createAuthority({ dir: ca, organization: "Bench", rootValidityMs: year, clock, random });
const log = recordingLog();
let sent = 0;
let answer = "";
let server = Bun.serve({ port: 0, hostname: "127.0.0.1", ...(await serving()) });
/** Serves the next phase at the same address. */
async function serveAgain(): Promise<void> {
  const { port } = server;
  const next = await serving();
  await server.stop(true);
  server = Bun.serve({ port: port ?? 0, hostname: "127.0.0.1", ...next });
}
const url = `https://localhost:${server.port}`;

/** What a master serves in the phase that the CA directory is in. */
async function serving() {
  const { authority, root, rotation } = await loadInForce(ca);
  const { certPem, keyPem } = await issueCertificate(authority, {
    ...{ commonName: "m", names: ["localhost"], usage: "enroll", validityMs: year, clock, random },
  });
  const roots = rotation === undefined ? [root] : [root, rotation.next];
  const document = createDocument(
    {
      ca_bundle_pem: roots.map(({ pem }) => pem).join(""),
      fingerprint: root.pin,
      nats_urls: ["tls://bus.example.com:4222"],
      command_keys: [key.publicKey],
      ...(rotation === undefined
        ? {}
        : {
            fingerprints: [root.pin, rotation.next.pin],
            trust_rotation: {
              phase: rotation.phase,
              next_fingerprint: rotation.next.pin,
              signature: encodeBase64(key.sign(rotationMessage(rotation.phase, root.pin, rotation.next.pin))),
              key: key.publicKey,
            },
          }),
    },
    clock.now(),
  );
  answer = JSON.stringify(document);
  return {
    tls: { cert: certPem, key: keyPem },
    fetch() {
      sent += answer.length;
      return new Response(answer, { headers: { "content-type": "application/json", connection: "close" } });
    },
  };
}

/** A peel with files of its own, which trusted the root on first use. */
function newPeel(at: number) {
  const dir = join(files.path, `peel-${at}`);
  mkdirSync(dir);
  const own = (name: string) => join(dir, name);
  for (const name of ["enroll-ca.crt", "bus-ca.crt"]) copyFileSync(join(ca, "root.crt"), own(name));
  const commandKeys = createCommandKeys(own("command-keys"), log);
  commandKeys.replace([key.publicKey]);
  const roots = createRoots({
    refusedStatements: { note() {}, clear() {} },
    ways: () => ({ config: { enroll_ca: "", enroll_ca_pin: [], bus_ca: "" }, env: {} }),
    files: { anchor: own("enroll-ca.crt"), busCa: own("bus-ca.crt") },
    clock,
    log,
  });
  const { signal } = new AbortController();
  const pem = readFileSync(own("enroll-ca.crt"), "utf8");
  const trust = createTrust({
    rung: { rung: 3, ca: { path: own("enroll-ca.crt"), pem } },
    followed: roots.counting,
    storeAnchor: roots.store,
    ...{ clock, log, signal },
  });
  const masters = createMasterClient({
    urls: [url],
    trust,
    jitter: () => 0,
    attempts: 1,
    clock,
    log,
    signal,
  });
  const cache = { load: () => undefined, save() {}, ofSite: [] };
  const site = () => undefined;
  const recoveryKeys = createRecoveryKeys(own("recovery-keys"), log);
  return {
    roots,
    fetch: () =>
      fetchDocument({
        ...{ masters, attempts: 1, found: { cache, site } },
        ...{ commandKeys, recoveryKeys, roots, log },
      }),
    bytes: () => statSync(own("enroll-ca.crt")).size + statSync(own("bus-ca.crt")).size,
  };
}

/** Runs something for every peel. @returns seconds, and mebibytes that the master sent */
async function timed(run: (at: number) => Promise<unknown>): Promise<{ seconds: number; sent: number }> {
  const before = sent;
  const started = clock.monotonic();
  await mapBounded([...Array(count).keys()], { atOnce: parallel }, run);
  return { seconds: (clock.monotonic() - started) / 1000, sent: (sent - before) / 1024 ** 2 };
}
const floor = async () => {
  const { authority } = await loadInForce(ca);
  return timed(() =>
    exchange({
      url: `${url}/api/v1/enroll/ca`,
      verify: { ca: authority.rootPem },
      timeoutMs: 15_000,
      maxBytes: 1024 * 1024,
      clock,
      signal: new AbortController().signal,
    }),
  );
};

const peels = Array.from({ length: count }, (_, at) => newPeel(at));
const follow = () => timed((at) => peels[at]?.fetch() ?? Promise.resolve());
const trusting = (pins: readonly string[]) =>
  peels.filter(({ roots }) => roots.trusted()?.join() === pins.join()).length;

await floor();
const { current, next } = await startRotation({
  ...{ dir: ca, rootValidityMs: year, withoutRootKey: false, clock, random },
});
await serveAgain();
const [start, startFloor] = [await follow(), await floor()];
assert(trusting([current.pin, next.pin]));
const bytesOf = peels.reduce((sum, { bytes }) => sum + bytes(), 0) / 1024 ** 2;
await activateRotation(ca);
await serveAgain();
await finishRotation(ca);
await serveAgain();
const [finish, finishFloor] = [await follow(), await floor()];
assert(trusting([next.pin]));
await server.stop(true);

function assert(following: number): void {
  if (following !== count) throw new Error(`only ${following} of ${count} peels followed`);
}

const row = (name: string, { seconds, sent }: typeof start, own?: number) => [
  name,
  seconds.toFixed(2),
  rate(count / seconds),
  own === undefined ? "" : ratio(seconds / own),
  mebibytes(sent),
];
const cpu = cpus();
process.stdout.write(`
A fleet of ${count} peels replaces its root, ${parallel} at once, all in this process
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
Documents sent in MiB; the anchors of all peels and their files for the bus take ${mebibytes(bytesOf)} MiB with both roots

${table(
  ["", "seconds", "peels per second", "of the floor", "MiB sent"],
  [
    row("start: fetch, verify, replace two files", start, startFloor.seconds),
    row("floor: fetch alone", startFloor),
    row("finish: fetch, replace two files", finish, finishFloor.seconds),
    row("floor: fetch alone", finishFloor),
  ],
)}
`);
