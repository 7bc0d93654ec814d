import { afterAll, beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { encodeBase64 } from "../../internal/base/base64.ts";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { createDocument, rotationMessage } from "../../internal/identity/bootstrap/document.ts";
import { loadInForce } from "../../internal/identity/ca/in-force.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { spkiPin } from "../../internal/identity/trust/pin.ts";
import type { StepResult } from "../../internal/program/diagnosis/step.ts";
import { binaries, logRecords } from "../harness/fleet.ts";
import { type Impostor, startImpostor } from "../harness/impostor.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";

// What svc doctor says of a peel while the root and the command key are replaced, with built binaries. The only master
// that the peel can ask is an impostor: it has a certificate of the fleet, and no command key.

let host: SingleHost;
let master: Program;
let impostor: Impostor;
let peel: Program;

const auth = (...parts: string[]) => join(host.dir, "auth", ...parts);
const read = (path: string) => readFileSync(path, "utf8");

function startPeel(...flags: string[]): Program {
  const data = join(host.dir, "data-web-1");
  const config = join(data, "peel.yaml");
  mkdirSync(join(data, "auth"), { recursive: true });
  cpSync(join(host.dir, "peel.yaml"), config);
  cpSync(join(host.dir, "bus", "nats-ca.crt"), join(data, "auth", "bus-ca.crt"));
  return startProgram(
    [binaries.peel, "--config", config, "--id", "web-1", "--health-addr", "127.0.0.1:0", ...flags],
    { cwd: host.dir, env: { SVC_DATA_DIR: data, PATH: process.env.PATH ?? "" } },
  );
}
async function restartPeel(...flags: string[]) {
  peel.kill("SIGTERM");
  await peel.exited;
  peel = startPeel(...flags);
  await peel.waitFor("peel connected");
}

/** What doctor says, by step. */
async function doctor() {
  const { stdout } = await host.svc("doctor", "web-1", "--output", "json");
  const results: StepResult[] = JSON.parse(stdout);
  return Object.fromEntries(results.map((one) => [one.step, one]));
}
async function untilDoctor(isWanted: (said: Record<string, StepResult>) => boolean) {
  const end = systemClock.now() + 60_000;
  for (;;) {
    const said = await doctor();
    if (isWanted(said)) return said;
    if (systemClock.now() > end) throw new Error(`not in time: ${JSON.stringify(said)}`);
    await sleep(systemClock, 300);
  }
}

beforeAll(async () => {
  host = await initSingleHost();
  master = await host.startMaster();
  const { authority, root } = await loadInForce(auth("ca"));
  const issued = await issueCertificate(authority, {
    ...{ commonName: "svc-master", names: ["localhost"], usage: "enroll", validityMs: 3600_000 },
    ...{ clock: systemClock, random: systemRandom },
  });
  const commandKey = keyPairFromSeed("user", read(auth("command.seed"))).publicKey;
  impostor = startImpostor({
    tls: { cert: issued.certPem, key: issued.keyPem },
    answer(_, { pathname }) {
      if (pathname !== "/api/v1/enroll/ca") return new Response("{}", { status: 404 });
      const next = read(auth("ca", "next", "root.crt"));
      const pins = [root.pin, spkiPin(next)] as const;
      const forged = newKeyPair("user", systemRandom).sign(rotationMessage("start", ...pins));
      return Response.json(
        createDocument(
          {
            ...{ nats_urls: [], command_keys: [commandKey], fingerprint: root.pin, fingerprints: [...pins] },
            ca_bundle_pem: `${root.pem.trim()}\n${next.trim()}\n`,
            trust_rotation: {
              ...{ phase: "start", next_fingerprint: pins[1], key: commandKey },
              signature: encodeBase64(forged),
            },
          },
          0,
        ),
      );
    },
  });
  peel = startPeel();
  await peel.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout);
  expect((await host.svc("enroll", "approve", pending.id)).code).toBe(0);
  await peel.waitFor("peel connected");
}, 120_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await impostor?.[Symbol.asyncDispose]();
  await host?.[Symbol.asyncDispose]();
});

test("a peel that is well has nothing to explain, and masters tell their recovery window", async () => {
  await untilDoctor(({ facts, heartbeat }) => facts?.level === "ok" && heartbeat?.level === "ok");
  const said = await doctor();
  for (const step of ["peel credentials", "clone", "root", "command keys", "statements"]) {
    expect([step, said[step]?.level]).toEqual([step, "ok"]);
  }
  const { masters } = JSON.parse((await host.svc("status", "--output", "json")).stdout);
  expect(masters[0].recovery_window_ms).toBe(8_760 * 3600_000);
}, 60_000);

test("a look at a fleet that is well writes nothing but information into the log of its master", async () => {
  // Of its bus server, and about a connection.
  const complaints = () =>
    logRecords(master).flatMap(({ level, msg }) =>
      (level === "error" || level === "warn") && String(msg).includes(" - cid:") ? [msg] : [],
    );
  const before = complaints().length;
  const said = await doctor();
  for (const step of ["bus connection", "bus TLS", "bus servers"]) {
    expect([step, said[step]?.level]).toEqual([step, "ok"]);
  }
  expect((await host.svc("status")).stdout).toContain("1 alive");
  // Who leaves before the handshake is a warning, and the log has it after all that was before.
  const leaving = connect(host.busPort, "127.0.0.1");
  await once(leaving, "data");
  const left = `:${leaving.localPort} - cid:`;
  leaving.destroy();
  await master.waitFor(new RegExp(`${left}\\d+ - TLS handshake error`));
  expect(complaints().slice(before)).toEqual([expect.stringContaining(left)]);
}, 60_000);

test("a refused rotation, a missing root and a missing command key are explained, and masters count them", async () => {
  expect((await host.svc("ca", "rotate", "start", "--dir", auth("ca"))).code).toBe(0);
  const nextPin = spkiPin(read(auth("ca", "next", "root.crt")));
  await restartPeel("--master-url", impostor.url);
  // While no peel is connected, masters wait for none and sign with the next key.
  expect((await host.svc("keys", "rotate", "command", "--dir", auth())).code).toBe(0);
  const nextKey = keyPairFromSeed("user", read(auth("command-next.seed"))).publicKey;
  const said = await untilDoctor(
    (found) => found.statements?.level === "fail" && /unknown/.test(found["command keys"]?.message ?? ""),
  );
  expect(said.statements).toMatchObject({
    message: expect.stringMatching(
      /^it refuses the statement of the rotation of the root since 20.*signature/,
    ),
    next: expect.stringContaining("another host answers in place of a master"),
  });
  expect(said.root).toMatchObject({
    level: "warn",
    message: expect.stringContaining(nextPin),
    next: expect.stringContaining("see the step statements"),
  });
  expect(said["command keys"]).toMatchObject({
    level: "warn",
    message: expect.stringContaining(`masters will sign with ${nextKey}`),
    next: expect.stringContaining("svc-peel check"),
  });
  const ready = logRecords(master).find(({ msg }) => msg === "master ready");
  const metrics = await (await fetch(`http://127.0.0.1:${ready?.health_port}/metrics`)).text();
  for (const line of [
    "svc_root_rotation_lacking_peels 1",
    'svc_root_rotation_phase{phase="start"} 1',
    "svc_command_key_unconfirmed_peels 1",
  ]) {
    expect(metrics.split("\n")).toContain(line);
  }
}, 120_000);

test("with a master of its fleet the peel follows, and nothing is left to explain", async () => {
  await restartPeel();
  const said = await untilDoctor(
    (found) => found.root?.level === "ok" && found["command keys"]?.level === "ok",
  );
  expect(said.statements?.level).toBe("ok");
}, 120_000);
