import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { createAuthority } from "../../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../../internal/identity/ca/load.ts";
import { freePorts } from "../../harness/free-ports.ts";
import { runProgram, startProgram } from "../../harness/process.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { milliseconds, rate, spread, table } from "../table.ts";
import { median } from "./cost.ts";
import type { Peers } from "./programs.ts";
import { treeUsage } from "./tree.ts";

/** Issues certificates, and says what that took. */
interface Authority extends AsyncDisposable {
  name: string;
  issue(): Promise<unknown>;
  /** Processor milliseconds of its process so far. */
  cpuMs(): number;
  /** How many it is asked for at the same time. */
  atATime: number;
}

const atATime = 16;
const name = "peer.example.com";
const provisioner = "bench";

/**
 * Certificates of an authority that runs already, one P-256 key each. What a master does is a call within its process,
 * with a new key pair; step-ca answers requests over HTTPS, with a token that is used once and a key of the applicant.
 *
 * @param count certificates in each round
 */
export async function authorityRows(peers: Peers, count: number, rounds: number): Promise<string> {
  using scratch = temporaryDirectory("bench-peers-authority");
  const ca = join(scratch.path, "ca");
  const [clock, random] = [systemClock, systemRandom];
  await createAuthority({ dir: ca, organization: "Bench", rootValidityMs: 365 * 86_400_000, clock, random });
  const own = await ownAuthority(ca);
  await using other = await startStepCa(peers, ca, scratch.path);
  const authorities = other === undefined ? [own] : [own, other];
  const measured = authorities.map(() => ({ rates: [] as number[], cpuMs: [] as number[] }));
  for (const authority of authorities) await issueMany(authority, Math.ceil(count / 10));
  for (let round = 0; round < rounds; round++) {
    for (const [at, authority] of authorities.entries()) {
      const cpuBefore = authority.cpuMs();
      const begun = clock.monotonic();
      await issueMany(authority, count);
      measured[at]?.rates.push((count * 1000) / (clock.monotonic() - begun));
      measured[at]?.cpuMs.push((authority.cpuMs() - cpuBefore) / count);
    }
  }
  const rows = measured.map(({ rates, cpuMs }, at) => [
    authorities[at]?.name ?? "",
    rate(median(rates)),
    spread(rates),
    milliseconds(median(cpuMs)),
  ]);
  return `An authority that runs, ${count} certificates in each round\n\n${table(["", "per second", "spread", "processor ms each"], rows)}`;
}

async function issueMany({ issue, atATime }: Authority, count: number): Promise<void> {
  let left = count;
  const work = async () => {
    while (left-- > 0) await issue();
  };
  await Promise.all(Array.from({ length: atATime }, work));
}

async function ownAuthority(ca: string): Promise<Authority> {
  const authority = await loadAuthority(ca);
  const [clock, random] = [systemClock, systemRandom];
  return {
    name: "svc: issueCertificate, within a process",
    issue: () =>
      issueCertificate(authority, {
        ...{ commonName: name, names: [name], usage: "enroll", validityMs: 86_400_000, clock, random },
      }),
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    atATime: 1,
    async [Symbol.asyncDispose]() {},
  };
}

/** The same root and intermediate behind HTTPS, with a provisioner whose key signs the tokens of applicants. */
async function startStepCa(peers: Peers, ca: string, directory: string): Promise<Authority | undefined> {
  const program = peers.program("step-ca");
  if (program === undefined) return undefined;
  const [port = 0] = await freePorts(1);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = publicKey.export({ format: "jwk" });
  const kid = createHash("sha256").update(JSON.stringify(jwk)).digest("base64url");
  const config = join(directory, "ca.json");
  writeFileSync(
    config,
    JSON.stringify({
      ...{ root: join(ca, "root.crt"), crt: join(ca, "intermediate.crt"), key: join(ca, "intermediate.key") },
      ...{ address: `127.0.0.1:${port}`, dnsNames: ["localhost", "127.0.0.1"] },
      db: { type: "badgerv2", dataSource: join(directory, "database") },
      authority: {
        provisioners: [{ type: "JWK", name: provisioner, key: { ...jwk, kid, use: "sig", alg: "ES256" } }],
      },
    }),
  );
  const server = startProgram([program, config], { env: { STEPPATH: directory } });
  const url = `https://127.0.0.1:${port}/1.0/sign`;
  const rootPem = readFileSync(join(ca, "root.crt"), "utf8");
  try {
    const csr = await newRequest(directory);
    await server.waitFor("Serving HTTPS");
    return {
      name: "step-ca: POST /1.0/sign, 16 at a time",
      async issue() {
        const answer = await fetch(url, {
          method: "POST",
          body: JSON.stringify({ csr, ott: newToken(privateKey, kid, url) }),
          tls: { ca: rootPem },
        });
        if (answer.status !== 201)
          throw new Error(`step-ca answered ${answer.status}: ${await answer.text()}`);
        return answer.arrayBuffer();
      },
      cpuMs: () => treeUsage(server.pid).cpuMs,
      atATime,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  } catch (thrown) {
    await server[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** What an applicant asks for: its key, and its name. */
async function newRequest(directory: string): Promise<string> {
  const out = join(directory, "peer.csr");
  const { code, stderr } = await runProgram([
    ...["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
    ...["-keyout", join(directory, "peer.key"), "-out", out, "-subj", `/CN=${name}`],
    ...["-addext", `subjectAltName=DNS:${name}`],
  ]);
  if (code !== 0) throw new Error(stderr);
  return readFileSync(out, "utf8");
}

/** A token that the provisioner signs for one certificate. */
function newToken(key: KeyObject, kid: string, audience: string): string {
  const seconds = Math.floor(systemClock.now() / 1000);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = [
    encode({ alg: "ES256", kid, typ: "JWT" }),
    encode({
      ...{ iss: provisioner, aud: audience, sub: name, sans: [name], jti: randomUUID() },
      ...{ iat: seconds, nbf: seconds - 5, exp: seconds + 300 },
    }),
  ].join(".");
  return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}
