import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../internal/base/clock.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { send } from "../harness/client.ts";
import { type FleetDirectory, fleetDirectory, startMasterOf } from "../harness/fleet-directory.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A peel whose fleet was stolen finds the one that succeeds it, without a visit to its host.

setDefaultTimeout(120_000);

/** A minute in three seconds. */
const fast: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 20,
  after: (ms, run) => systemClock.after(ms / 20, run),
  every: (ms, run) => systemClock.every(ms / 20, run),
};

const files = temporaryDirectory("succession-peel");
const at = (...parts: string[]) => join(files.path, ...parts);
const data = at("peel");
const auth = (name: string) => join(data, "auth", name);
const read = (path: string) => readFileSync(path, "utf8");
let ports: { bus: number; api: number };
let old: FleetDirectory;
let enrollmentId: string;

const start = (fleet: FleetDirectory) =>
  startPeel(data, ["--config", join(fleet.dir, "peel.yaml"), "--id", "web-1"], { clock: fast });

/** What the recovery of credentials does: asks for them with the peel's key. */
async function recover(fleet: FleetDirectory) {
  const key = keyPairFromSeed("user", read(auth("web-1.seed")));
  const proof = Buffer.from(key.sign(Buffer.from(enrollmentId))).toString("base64url");
  const headers = { authorization: `Nkey ${key.publicKey}:${proof}` };
  const answer = await send(fleet.url, fleet.ca, { path: `/api/v1/enroll/${enrollmentId}/creds`, headers });
  expect(answer.status).toBe(200);
  const { creds_data } = answer.json as { creds_data: string };
  writeFileSync(auth("web-1.creds"), Buffer.from(creds_data, "base64"));
}

beforeAll(async () => {
  const [bus = 0, api = 0] = await freePorts(2);
  ports = { bus, api };
  old = await fleetDirectory(at("old"), ports);
  cpSync(join(old.dir, "peel"), data, { recursive: true });
  await using _ = await startMasterOf(old);
  await using peel = start(old);
  const pending = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  enrollmentId = String(pending.fields.enrollment_id);
  expect((await operate(old, enrollmentId, "approve")).status).toBe(200);
  await peel.ready;
  const saved = await old.svc(
    ...["bus", "backup", join(old.dir, "backup"), "--creds", join(old.dir, "auth", "master.creds")],
  );
  expect(saved.exit).toBe(0);
});
afterAll(() => files[Symbol.dispose]());

test("it keeps the recovery keys that it learned with its credentials", () => {
  expect(read(auth("recovery-keys"))).toBe(read(join(old.dir, "auth", "recovery.pub")));
  expect(statSync(auth("recovery-keys")).mode & 0o777).toBe(0o600);
});

test("it follows, takes work there, and stays there after a restart", async () => {
  const copy = at("copy");
  cpSync(old.dir, copy, { recursive: true });
  const dir = at("new");
  const seed = join(copy, "auth", "recovery.seed");
  const next = await fleetDirectory(dir, ports, [
    ...["fleet", "succeed", dir, "--from", copy, "--recovery-seed", seed],
  ]);
  await using master = await startMasterOf(next);
  {
    // It runs with the configuration of the fleet before: its pin and its bus.
    await using peel = start(old);
    const joins = await peel.log.logged("this peel joins the fleet that succeeds its own");
    expect(joins.fields).toMatchObject({ serial: 1, master_urls: [next.url] });
    await recover(next);
    await peel.ready;
    expect(read(auth("enroll-ca.crt"))).toBe(next.ca);
    expect(read(auth("bus-ca.crt"))).toBe(next.ca);
    expect(read(auth("recovery-keys"))).toBe(read(join(dir, "auth", "recovery.pub")));
    expect(statSync(auth("succession.json")).mode & 0o777).toBe(0o600);
    const ran = await next.svc("run", "web-1", "test.ping", "--output", "json");
    expect([ran.exit, ran.stderr]).toEqual([0, expect.stringContaining("1 peel: 1 ok")]);
  }
  {
    await using peel = start(old);
    await peel.ready;
    const warned = peel.log.records.filter(({ event }) => event.includes("a succession outranks them"));
    expect(warned.map(({ fields }) => fields.options)).toEqual([["enroll_ca_pin"]]);
    expect(peel.log.records.filter(({ level }) => level === "error")).toEqual([]);
  }
  // The bus reports the refused credentials of the fleet before.
  const errors = master.records.filter(
    ({ level, fields }) => level === "error" && fields.component !== "bus",
  );
  expect(errors).toEqual([]);
});

test("it never goes back to the fleet before", async () => {
  await using _ = await startMasterOf(old);
  await using peel = start(old);
  await peel.log.logged("a master cannot be used");
  const credentials = read(auth("web-1.creds"));
  expect(peel.log.records.some(({ event }) => event === "peel connected")).toBe(false);
  expect(read(auth("web-1.creds"))).toBe(credentials);
  expect(read(auth("enroll-ca.crt"))).not.toBe(old.ca);
});
