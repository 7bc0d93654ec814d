import { generateKeyPairSync, sign } from "node:crypto";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { createAuthority } from "../../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../../internal/identity/ca/load.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, ratio, spread, table } from "../table.ts";

// Certificates per second of the embedded CA beside the floor, in turns within one run: a P-256 key pair,
// its PEM, and one signature, with nothing that makes a certificate of it.

const flags = readFlags({
  certificates: ["2000", "5"],
  rounds: ["5", "1"],
});
const rounds = flags.count("rounds");
const perRound = Math.ceil(flags.count("certificates") / rounds);

using files = temporaryDirectory("bench-ca");
const clock = systemClock;
const random = systemRandom;
const dir = join(files.path, "ca");
await createAuthority({ dir, organization: "Bench", rootValidityMs: 365 * 86_400_000, clock, random });
const authority = await loadAuthority(dir);
/** As many bytes as the signed part of an enrollment certificate has. */
const signedPart = new Uint8Array(systemRandom(420));
const nodeKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

const contenders = {
  "svc: issueCertificate": async () => {
    await issueCertificate(authority, {
      commonName: "svc-master",
      names: ["master-1.example.com", "localhost"],
      usage: "enroll",
      validityMs: 86_400_000,
      clock,
      random,
    });
  },
  "floor: WebCrypto key pair + signature": async () => {
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    await crypto.subtle.exportKey("pkcs8", pair.privateKey);
    await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, authority.signingKey, signedPart);
  },
  "floor: node:crypto key pair + signature": () => {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    pair.privateKey.export({ type: "pkcs8", format: "pem" });
    sign("sha256", signedPart, nodeKey);
  },
} satisfies Record<string, () => void | Promise<void>>;

type Contender = keyof typeof contenders;
const names = Object.keys(contenders) as Contender[];
const rates = new Map<Contender, number[]>(names.map((name) => [name, []]));

// Warm up: loading and compiling on first use is not measured.
for (const name of names) await measure(name, Math.min(100, perRound));
for (let round = 0; round < rounds; round++) {
  for (const name of names) rates.get(name)?.push(await measure(name, perRound));
}
report();

/** @returns certificates per second, one after the other */
async function measure(name: Contender, count: number): Promise<number> {
  const run = contenders[name];
  const started = clock.monotonic();
  for (let i = 0; i < count; i++) await run();
  return (count * 1000) / (clock.monotonic() - started);
}

function report(): void {
  const medianOf = (name: Contender) => {
    const sorted = [...(rates.get(name) ?? [])].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  const own = medianOf("svc: issueCertificate");
  const rows = names.map((name, at) => [
    name,
    rate(medianOf(name)),
    spread(rates.get(name) ?? []),
    at === 0 ? "" : ratio(own / medianOf(name)),
    milliseconds(1000 / medianOf(name)),
  ]);
  const cpu = cpus();
  process.stdout.write(`
Certificates of the embedded CA, each under a new P-256 key, one after the other
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds of ${perRound} for each line, in turns; medians

${table(["", "per second", "spread", "svc is", "ms each"], rows)}
`);
}
