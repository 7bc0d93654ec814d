import { afterEach, beforeEach, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom as random } from "../../base/id.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { loadInForce } from "../../identity/ca/in-force.ts";
import { issueCertificate } from "../../identity/ca/issue.ts";
import { checkPair } from "../../identity/ca/pair.ts";
import { abortRotation, activateRotation, finishRotation, startRotation } from "../../identity/ca/rotate.ts";
import { spkiPin, splitPem } from "../../identity/trust/pin.ts";
import { renewBusCertificate, renewRootFile } from "./bus-files.ts";

const hour = 3_600_000;
const year = 8760 * hour;
let clock: ReturnType<typeof manualClock>;
let files: ReturnType<typeof temporaryDirectory>;
let ca: string;
let bus: string;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  files = temporaryDirectory("bus-files");
  [ca, bus] = [join(files.path, "ca"), join(files.path, "bus")];
  mkdirSync(bus);
  await createAuthority({ dir: ca, organization: "Fleet", rootValidityMs: 10 * year, clock, random });
  await issueBus(ca);
});
afterEach(() => files[Symbol.dispose]());

const at = (name: string) => join(bus, name);
const read = (name: string) => readFileSync(at(name), "utf8");
async function issueBus(from: string): Promise<void> {
  const { authority, root } = await loadInForce(from);
  const names = ["bus.example.com", "localhost", "10.0.0.9", "::1"];
  const issued = await issueCertificate(authority, {
    ...{ commonName: "nats", names, usage: "nats-server", validityMs: year, clock, random },
  });
  writeFileSync(at("nats-server.crt"), issued.certPem);
  writeFileSync(at("nats-server.key"), issued.keyPem, { mode: 0o600 });
  writeFileSync(at("nats-ca.crt"), root.pem);
}
const renew = async () =>
  renewBusCertificate(bus, { inForce: await loadInForce(ca), clock, random, log: recordingLog() });
const renewRoots = async () =>
  renewRootFile(at("nats-ca.crt"), { inForce: await loadInForce(ca), log: recordingLog() });
const start = () =>
  startRotation({ dir: ca, rootValidityMs: 10 * year, withoutRootKey: false, clock, random });
const pins = () => splitPem(read("nats-ca.crt")).map(spkiPin);
const isPair = () =>
  checkPair(
    { cert: read("nats-server.crt"), key: read("nats-server.key") },
    { cert: "c", key: "k" },
    clock.now(),
  );

test("the certificate of the bus follows each phase once, with its names, and so do its roots", async () => {
  const names = new X509Certificate(read("nats-server.crt")).subjectAltName;
  expect([await renew(), await renewRoots()]).toEqual([false, false]);
  const { current, next } = await start();
  expect([await renew(), await renewRoots()]).toEqual([false, true]);
  expect(pins()).toEqual([current.pin, next.pin]);
  await activateRotation(ca);
  expect([await renew(), await renewRoots()]).toEqual([true, false]);
  expect(splitPem(read("nats-server.crt"))).toHaveLength(3);
  expect(new X509Certificate(read("nats-server.crt")).subjectAltName).toBe(names ?? "");
  expect(statSync(at("nats-server.key")).mode & 0o777).toBe(0o600);
  await finishRotation(ca);
  expect([await renew(), await renewRoots()]).toEqual([true, true]);
  expect(splitPem(read("nats-server.crt"))).toHaveLength(2);
  expect(pins()).toEqual([next.pin]);
  expect([await renew(), await renewRoots()]).toEqual([false, false]);
  isPair();
});

test("an aborted rotation brings the current authority back", async () => {
  const { current } = await start();
  await activateRotation(ca);
  await renew();
  await renewRoots();
  await abortRotation(ca);
  expect([await renew(), await renewRoots()]).toEqual([true, true]);
  expect(pins()).toEqual([current.pin]);
  expect(splitPem(read("nats-server.crt"))).toHaveLength(2);
});

test("a run that ended between key and certificate is repaired", async () => {
  const before = join(files.path, "before.crt");
  cpSync(at("nats-server.crt"), before);
  await start();
  await activateRotation(ca);
  await renew();
  cpSync(before, at("nats-server.crt"));
  expect(isPair).toThrow("is not the key of");
  expect(await renew()).toBe(true);
  isPair();
});

test("a certificate that ends is issued again, and not in vain where the intermediate ends first", async () => {
  clock.advance(year * 0.6);
  expect(await renew()).toBe(false);
  clock.advance(year * 0.1);
  expect(await renew()).toBe(true);
  isPair();
  clock.advance(4.3 * year - clock.now() + Date.UTC(2026, 0, 1));
  expect(await renew()).toBe(true);
  clock.advance(0.6 * year);
  expect(await renew()).toBe(false);
});

test("what another authority issued is not touched, even one of the same name", async () => {
  const other = join(files.path, "other");
  await createAuthority({ dir: other, organization: "Fleet", rootValidityMs: 10 * year, clock, random });
  await issueBus(other);
  const before = [read("nats-server.crt"), read("nats-ca.crt")];
  await start();
  await activateRotation(ca);
  expect([await renew(), await renewRoots()]).toEqual([false, false]);
  expect([read("nats-server.crt"), read("nats-ca.crt")]).toEqual(before);
});
