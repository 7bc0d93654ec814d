import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { systemRandom } from "../../../base/id.ts";
import { deriveCurveKey } from "../../../identity/curve.ts";
import { readClaims } from "../../../identity/jwt.ts";
import { type KeyPair, newKeyPair } from "../../../identity/nkey.ts";
import { createRecordMac } from "../../../identity/record-mac.ts";
import { recoveryMessage, rekeyMessage, renewalMessage } from "../../../wire/enrollment-messages.ts";
import { issueChallenge } from "../joining/challenge.ts";
import { decodeMap, type Enrollment, encodeRecord } from "../record/record.ts";
import { sealingKeyOf } from "../record/sealing-key.ts";
import { readSummary } from "../record/summary.ts";
import { transition } from "../record/transition.ts";
import { createRevocations } from "../revocation/revocations.ts";
import { createDirectory } from "../store/directory.ts";
import { insertEnrollment, loadEnrollment, saveEnrollment } from "../store/store.ts";
import { createVouchers } from "../store/vouchers.ts";
import { recover } from "./recover.ts";
import { rekey, renew, renew as renewAs } from "./renew.ts";

const id = "enr-000000000000000000000000000";
const peelId = "web1";
const account = newKeyPair("account", systemRandom);
const day = 24 * 60 * 60_000;

const busKey = () => newKeyPair("user", systemRandom).publicKey;

async function fleet(fields: Partial<Enrollment> = {}, onClone: "alert" | "revoke" = "alert") {
  const clock = manualClock();
  const log = recordingLog();
  const enrollments = { ...memoryBucket(), vouchers: createVouchers(createRecordMac(account)) };
  const [challenges, bucket] = [memoryBucket(), memoryBucket()];
  const revocations = createRevocations({ bucket, log });
  const key = newKeyPair("user", systemRandom);
  const first = busKey();
  const record: Enrollment = {
    ...{ id, peelId, publicKey: key.publicKey, curvePublicKey: deriveCurveKey(key).publicKey },
    ...{ state: "active", createdAt: clock.now(), updatedAt: clock.now() },
    ...{ busPublicKey: first, credsExpiresAt: clock.now() + 180 * day },
    busKeys: [{ publicKey: first, expiresAt: clock.now() + 180 * day }],
    ...fields,
  };
  await insertEnrollment(enrollments, record, undefined);
  const directory = createDirectory({ enrollments, log });
  await directory.ready;
  const seen = { clones: 0, reported: [] as string[], enforced: 0 };
  const enforcer = {
    async enforce() {
      seen.enforced++;
      return true;
    },
  };
  const deps = {
    ...{
      enrollments,
      challenges,
      revocations,
      directory,
      account: () => account,
      enforcer,
      clock,
      log,
      onClone,
    },
    validityMs: 180 * day,
    recoveryWindowMs: 365 * day,
    async notifyOfClone(...reported: string[]) {
      seen.reported.push(...reported);
    },
    metrics: { cloneSuspected: () => void seen.clones++ },
    enforce: {
      ...{ enforcer, clock, log, metrics: { revocationSeconds() {} } },
      disconnections: {
        watch: () => ({ closed: async () => undefined, stop() {} }),
        stop() {},
      },
    },
  };
  const signedRenewal = (renews: string, next: string, by: KeyPair = key, at = clock.now()) => {
    const request = { enrollmentId: id, renews, busPublicKey: next, signedAt: rfc3339(at) };
    return { ...request, signature: by.sign(renewalMessage(request)) };
  };
  const signedRekey = (to: KeyPair, next: string, from: KeyPair = key) => {
    const request = {
      ...{ enrollmentId: id, publicKey: to.publicKey, curvePublicKey: deriveCurveKey(to).publicKey },
      ...{ busPublicKey: next, signedAt: rfc3339(clock.now()) },
    };
    const message = rekeyMessage(request);
    return { ...request, signatureOld: from.sign(message), signatureNew: to.sign(message) };
  };
  return {
    ...{ deps, clock, log, key, first, seen, signedRenewal, signedRekey, bucket, directory },
    stored: async () => (await loadEnrollment(enrollments, id)).record,
    renew: (renews: string, next: string, by?: KeyPair, at?: number) =>
      renew(deps, peelId, signedRenewal(renews, next, by, at)),
    async recover(next: string, revokePrevious = false, by: KeyPair = key) {
      const made = await issueChallenge(
        { challenges, clock, random: systemRandom },
        { peelId, publicKey: by.publicKey },
      );
      const message = recoveryMessage({ challenge: made.bytes, enrollmentId: id, busPublicKey: next });
      const signature = by.sign(message);
      const request = { id, challengeId: made.id, publicKey: by.publicKey, busPublicKey: next };
      return recover(deps, { ...request, signature, revokePrevious });
    },
    revoked: async () => [...(await revocations.current(clock.now())).keys()],
  };
}

const kind = (kind: string) => expect.objectContaining({ kind });

test("a renewal gives the peel's own key a JWT, and the record keeps the key before", async () => {
  const { renew, stored, first, clock, directory } = await fleet();
  const next = busKey();
  const at = clock.now();
  const renewed = await renew(first, next);
  if (renewed.verdict !== "change") throw new Error("not renewed");
  const claims = readClaims(renewed.jwt);
  expect(claims).toMatchObject({ sub: next, iss: account.publicKey, name: peelId });
  expect(claims.exp).toBe(renewed.expiresAt / 1000);
  expect(JSON.stringify(claims.nats)).toContain(`svc.peel.${peelId}.renew`);
  expect(await stored()).toMatchObject({
    ...{ state: "active", busPublicKey: next, credsExpiresAt: renewed.expiresAt, renewals: 1, renewedAt: at },
    busKeys: [
      { publicKey: first, expiresAt: at + 180 * day },
      { publicKey: next, expiresAt: renewed.expiresAt },
    ],
  });
  expect([first, next].map((key) => directory.holds(peelId, key))).toEqual([true, true]);
  expect(directory.holderOf(next)).toBe(id);
});

test("a repeat of an answered request gets the JWT of the same key again, as often as it comes", async () => {
  const { renew, first, stored } = await fleet();
  const next = busKey();
  await renew(first, next);
  const before = await stored();
  for (let i = 0; i < 20; i++) {
    const again = await renew(first, next);
    if (again.verdict !== "repeat") throw new Error(`it is a ${again.verdict}`);
    expect(readClaims(again.jwt)).toMatchObject({ sub: next, exp: (before.credsExpiresAt ?? 0) / 1000 });
  }
  expect(await stored()).toEqual(before);
});

test("another key than the current one is a second holder: marked and reported once, and the first continues", async () => {
  const { renew, first, seen, stored, deps, log } = await fleet();
  const [second, third, fourth] = [busKey(), busKey(), busKey()];
  await renew(first, second);
  // The copy of the host still has the first key.
  expect(await renew(first, third)).toEqual({ verdict: "clone" });
  expect(await renew(first, fourth)).toEqual({ verdict: "clone" });
  expect(await stored()).toMatchObject({ cloneSuspected: true, busPublicKey: second, state: "active" });
  expect(seen).toMatchObject({ clones: 1, reported: [id, peelId] });
  expect(log.records.filter(({ event }) => event === "enrollment.clone.suspected")).toHaveLength(1);
  expect((await renew(second, third)).verdict).toBe("change");
  const { record, revision } = await loadEnrollment(deps.enrollments, id);
  expect(record.cloneSuspected).toBe(true);
  const cleared = transition(record, { type: "clear-clone", operator: "ann" }, deps.clock.now());
  await saveEnrollment(deps.enrollments, cleared, revision);
  expect(cleared.cloneSuspected).toBeUndefined();
  await renew(first, fourth);
  expect(seen.clones).toBe(2);
});

test("with on_clone revoke, the enrollment and all its keys are revoked", async () => {
  const { renew, first, stored, revoked, clock } = await fleet({}, "revoke");
  const second = busKey();
  await renew(first, second);
  expect(await renew(first, busKey())).toEqual({ verdict: "clone" });
  await clock.pass(1);
  expect(await stored()).toMatchObject({ state: "revoked", decidedBy: "svc-master", busKeys: [] });
  expect((await revoked()).sort()).toEqual([first, second].sort());
});

test("signature, time, subject, state and key are checked", async () => {
  const { deps, renew, first, key, clock, signedRenewal, stored } = await fleet();
  const stranger = newKeyPair("user", systemRandom);
  const unknown = { ...signedRenewal(first, busKey()), enrollmentId: `enr-${"1".repeat(27)}` };
  await expect(renew(first, busKey(), stranger)).rejects.toEqual(kind("unauthorized"));
  for (const off of [-300_001, 300_001]) {
    await expect(renew(first, busKey(), key, clock.now() + off)).rejects.toEqual(kind("unauthorized"));
  }
  expect((await renew(first, first).catch((thrown) => thrown)).kind).toBe("bad_request");
  await expect(renewAs(deps, "web2", signedRenewal(first, busKey()))).rejects.toEqual(kind("forbidden"));
  await expect(renewAs(deps, peelId, unknown)).rejects.toEqual(kind("not_found"));
  expect((await stored()).renewals).toBeUndefined();
  for (const fields of [
    { state: "approved" },
    { state: "revoked" },
    { suspended: { at: 1, reason: "x" } },
  ] as const) {
    const other = await fleet(fields);
    await expect(other.renew(other.first, busKey())).rejects.toEqual(kind("forbidden"));
  }
});

test("the bus key of another peel is refused: its revocation would end the other", async () => {
  const { deps, renew, first } = await fleet();
  const other = { ...(await loadEnrollment(deps.enrollments, id)).record, id: `enr-${"b".repeat(27)}` };
  const taken = busKey();
  await insertEnrollment(deps.enrollments, { ...other, peelId: "web2", busPublicKey: taken }, undefined);
  await expect(renew(first, taken)).rejects.toEqual(kind("bad_request"));
});

test("six renewals in ten minutes; the oldest of five keys is revoked, and the bus is updated", async () => {
  const { renew, first, clock, revoked, stored, seen } = await fleet();
  let current = first;
  const made = [first];
  for (let i = 0; i < 6; i++) {
    const next = busKey();
    await renew(current, next);
    made.push(next);
    current = next;
  }
  await expect(renew(current, busKey())).rejects.toEqual(kind("rate_limited"));
  expect((await stored()).busKeys?.map(({ publicKey }) => publicKey)).toEqual(made.slice(-4));
  expect((await revoked()).sort()).toEqual(made.slice(0, 3).sort());
  expect(seen.enforced).toBe(3);
  await clock.pass(10 * 60_000 + 1);
  expect((await renew(current, busKey())).verdict).toBe("change");
});

test("after a thousand renewals the record is small, and nothing was revoked", async () => {
  const { renew, first, clock, stored, bucket, key } = await fleet();
  let current = first;
  for (let i = 0; i < 1_000; i++) {
    clock.advance(120 * day);
    const next = busKey();
    await renew(current, next, key, clock.now());
    current = next;
  }
  const record = await stored();
  expect(record.renewals).toBe(1_000);
  expect(encodeRecord(record).length).toBeLessThan(2_048);
  expect(bucket.keys).toEqual([]);
});

test("a lost compare-and-swap against the same request repeats; two masters leave one outcome", async () => {
  const { deps, signedRenewal, first, stored, seen } = await fleet();
  const next = busKey();
  const request = signedRenewal(first, next);
  const answers = await Promise.all([1, 2, 3].map(() => renew(deps, peelId, request)));
  expect(answers.map(({ verdict }) => verdict).sort()).toEqual(["change", "repeat", "repeat"]);
  expect(new Set(answers.map((one) => "jwt" in one && readClaims(one.jwt).sub))).toEqual(new Set([next]));
  expect(await stored()).toMatchObject({ renewals: 1, busPublicKey: next });
  expect(seen.clones).toBe(0);
});

test("a new key: both signatures, compare-and-swap, and the curve key is bound to the new owner", async () => {
  const { deps, key, stored, signedRekey, first, renew, directory } = await fleet();
  const to = newKeyPair("user", systemRandom);
  const next = busKey();
  const changed: string[] = [];
  directory.onMember((peel) => void changed.push(peel));
  const request = signedRekey(to, next);
  const stranger = newKeyPair("user", systemRandom);
  for (const wrong of [
    signedRekey(to, next, stranger),
    { ...request, signatureNew: request.signatureOld },
    { ...request, busPublicKey: busKey() },
  ]) {
    await expect(rekey(deps, peelId, wrong)).rejects.toEqual(kind("unauthorized"));
  }
  expect((await rekey(deps, peelId, request)).verdict).toBe("change");
  const record = await stored();
  expect(record).toMatchObject({
    ...{ publicKey: to.publicKey, previousPublicKey: key.publicKey, busPublicKey: next, renewals: 1 },
    rekeyedAt: deps.clock.now(),
  });
  expect(sealingKeyOf(record)).toBe(deriveCurveKey(to).publicKey);
  expect(sealingKeyOf({ ...record, curvePublicKey: deriveCurveKey(key).publicKey })).toBeUndefined();
  // Its settings are sealed again.
  expect(changed).toEqual([peelId]);
  // The answer got lost: the same again, and a renewal with the new key finds the same.
  expect((await rekey(deps, peelId, request)).verdict).toBe("repeat");
  expect((await renew(first, next, to)).verdict).toBe("repeat");
  // The old key is worth nothing.
  await expect(renew(next, busKey(), key)).rejects.toEqual(kind("unauthorized"));
  expect((await renew(next, busKey(), to)).verdict).toBe("change");
  expect(directory.newestOf(to.publicKey)).toEqual({ id, state: "active" });
  expect(directory.newestOf(key.publicKey)).toBeUndefined();
});

test("of two changes of keys at once one wins, and the other learns that it lost", async () => {
  const { deps, signedRekey, stored } = await fleet();
  const keys = [1, 2].map(() => newKeyPair("user", systemRandom));
  const results = await Promise.allSettled(keys.map((to) => rekey(deps, peelId, signedRekey(to, busKey()))));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { kind: "unavailable" },
  });
  expect((await stored()).renewals).toBe(1);
});

test("a recovery replaces lost credentials, and revokes the ones before only when the peel asks for it", async () => {
  const { recover, first, stored, revoked, seen, clock } = await fleet();
  const [second, third] = [busKey(), busKey()];
  const { jwt } = await recover(second);
  expect(readClaims(jwt)).toMatchObject({ sub: second, name: peelId });
  expect(await revoked()).toEqual([]);
  expect((await stored()).busKeys?.map(({ publicKey }) => publicKey)).toEqual([first, second]);
  await recover(third, true);
  expect(await stored()).toMatchObject({
    ...{ busPublicKey: third, recoveries: 2, recoveredAt: clock.now() },
    busKeys: [{ publicKey: third }],
  });
  expect((await revoked()).sort()).toEqual([first, second].sort());
  expect(seen.enforced).toBe(1);
});

test("a recovery is possible until the window after the credentials ends", async () => {
  const { recover, clock, deps, stored } = await fleet();
  clock.advance((180 + 365) * day);
  await recover(busKey(), true);
  expect((await stored()).busKeys).toHaveLength(1);
  clock.advance((180 + 366) * day);
  await expect(recover(busKey())).rejects.toThrow("longer ago than enroll.recovery_window (365d)");
  deps.recoveryWindowMs = 0;
  await expect(recover(busKey())).rejects.toEqual(kind("forbidden"));
});

test("a recovery by another key, with a used challenge or of an ended record is refused", async () => {
  const one = await fleet();
  const stranger = newKeyPair("user", systemRandom);
  await expect(one.recover(busKey(), false, stranger)).rejects.toEqual(kind("unauthorized"));
  const used = { id, challengeId: `chl-${"1".repeat(27)}`, publicKey: one.key.publicKey };
  await expect(
    recover(one.deps, {
      ...{ ...used, busPublicKey: busKey(), signature: new Uint8Array(64), revokePrevious: false },
    }),
  ).rejects.toEqual(kind("unauthorized"));
  for (const state of ["pending", "approved", "rejected", "revoked"] as const) {
    const other = await fleet({ state });
    await expect(other.recover(busKey())).rejects.toEqual(kind("forbidden"));
  }
  // It comes back by itself after a resume: it must not stop.
  const suspended = await fleet({ suspended: { at: 1, reason: "floods" } });
  await expect(suspended.recover(busKey())).rejects.toEqual(kind("unavailable"));
});

test("lists show a suspected clone, and that a peel is suspended first", async () => {
  const { stored } = await fleet({ cloneSuspected: true });
  const summary = (record: Enrollment) => readSummary(decodeMap(encodeRecord(record)));
  const record = await stored();
  expect(summary(record)).toMatchObject({ trust: "CLONE!", cloneSuspected: true });
  expect(summary({ ...record, suspended: { at: 1, reason: "x" } })).toMatchObject({
    ...{ trust: "SUSPENDED", cloneSuspected: true },
  });
});
