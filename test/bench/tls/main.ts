import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { createAuthority } from "../../../internal/identity/ca/create.ts";
import { issueCertificate } from "../../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../../internal/identity/ca/load.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, ratio, spread, table } from "../table.ts";

// TLS 1.3 handshakes of the listener beside `openssl s_server` with the same certificate, in turns within
// one run; then connections that fail while the certificate rotates at full load. See docs/bench.md.

const flags = readFlags({
  seconds: ["3", "1"],
  rounds: ["4", "1"],
  rotations: ["100", "2"],
});
const rounds = flags.count("rounds");

using files = temporaryDirectory("bench-tls");
const clock = systemClock;
const random = systemRandom;
const day = 86_400_000;
await createAuthority({
  dir: join(files.path, "ca"),
  organization: "Bench",
  rootValidityMs: 30 * day,
  clock,
  random,
});
const authority = await loadAuthority(join(files.path, "ca"));
const issue = async () => {
  const names = ["localhost", "127.0.0.1"];
  const options = {
    commonName: "svc-master",
    names,
    usage: "enroll" as const,
    validityMs: day,
    clock,
    random,
  };
  const { certPem: cert, keyPem: key } = await issueCertificate(authority, options);
  return { cert, key };
};
const certificates = await Promise.all(Array.from({ length: 8 }, issue));
const [first = await issue()] = certificates;
const [certFile, keyFile] = ["cert.pem", "key.pem"].map((name) => join(files.path, name)) as [string, string];
writeFileSync(certFile, first.cert);
writeFileSync(keyFile, first.key, { mode: 0o600 });

const server = Bun.spawn([process.execPath, join(import.meta.dir, "server.ts")], {
  stdin: "pipe",
  stdout: "pipe",
});
server.stdin.write(`${JSON.stringify(first)}\n`);
server.stdin.flush();
const { value: portLine } = await server.stdout.getReader().read();
const port = Number(Buffer.from(portLine ?? []).toString());
const peerPort = port < 60_000 ? port + 1 : port - 1;
const peer = Bun.spawn(
  [
    "openssl",
    "s_server",
    "-accept",
    `127.0.0.1:${peerPort}`,
    "-cert",
    certFile,
    "-cert_chain",
    certFile,
    "-key",
    keyFile,
    "-tls1_3",
    "-quiet",
    "-www",
    "-num_tickets",
    "0",
  ],
  { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
);

/** New full handshakes for some seconds, one after the other, by OpenSSL's own client. */
async function handshakes(at: number): Promise<number> {
  const child = Bun.spawn(
    ["openssl", "s_time", "-connect", `127.0.0.1:${at}`, "-new", "-time", flags.text("seconds"), "-tls1_3"],
    { stdout: "pipe", stderr: "ignore" },
  );
  const [, count, seconds] =
    /(\d+) connections in (\d+) real seconds/.exec(await new Response(child.stdout).text()) ?? [];
  // OpenSSL counts whole seconds and one too many.
  return Number(count) / Math.max(1, Number(seconds) - 1);
}

const contenders = [
  { name: "listener of svc-master", at: port, pid: server.pid },
  { name: "openssl s_server", at: peerPort, pid: peer.pid },
];
const samples = contenders.map(() => ({ rates: [] as number[], cpu: 0, done: 0 }));
await sleep(clock, 300);
for (let round = 0; round < rounds; round++) {
  for (const [at, contender] of contenders.entries()) {
    const sample = samples[at];
    if (sample === undefined) continue;
    const before = cpuSecondsOf(contender.pid);
    const perSecond = await handshakes(contender.at);
    sample.rates.push(perSecond);
    sample.cpu += cpuSecondsOf(contender.pid) - before;
    sample.done += perSecond * flags.count("seconds");
  }
}
const mean = (list: number[]) => list.reduce((sum, one) => sum + one, 0) / list.length;
const floor = mean(samples[1]?.rates ?? []);
process.stdout.write(
  `TLS 1.3 handshakes with P-256 certificates (leaf and intermediate), one after the other; ${cpus()[0]?.model ?? ""}, ${rounds} rounds of ${flags.text("seconds")} s each\n\n`,
);
process.stdout.write(
  `${table(
    ["", "per second", "spread", "listener is", "server ms"],
    contenders.map(({ name }, at) => {
      const { rates = [], cpu = 0, done = 1 } = samples[at] ?? {};
      const own = at === 0 ? ratio(mean(rates) / floor) : "";
      return [name, rate(mean(rates)), spread(rates), own, milliseconds((cpu * 1000) / done)];
    }),
  )}\n\n`,
);

const rotations = flags.count("rotations");
let failed = 0;
let done = 0;
let rotating = true;
const serials = new Set<string>();
const once = () =>
  new Promise<void>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca: authority.rootPem });
    socket.on("secureConnect", () => {
      serials.add(socket.getPeerCertificate().serialNumber);
      done++;
      socket.destroy();
      resolve();
    });
    socket.on("error", () => {
      failed++;
      resolve();
    });
  });
const load = Array.from({ length: 16 }, async () => {
  while (rotating) await once();
});
for (let rotation = 0; rotation < rotations; rotation++) {
  server.stdin.write(`${JSON.stringify(certificates[rotation % certificates.length])}\n`);
  server.stdin.flush();
  await sleep(clock, 50);
}
rotating = false;
await Promise.all(load);
process.stdout.write(
  `${rotations} rotations under ${done} new handshakes, 16 at a time: ${failed} failed connections, ${serials.size} certificates met\n`,
);
peer.kill();
server.stdin.end();
await Promise.all([peer.exited, server.exited]);
process.exitCode = failed === 0 ? 0 : 1;
