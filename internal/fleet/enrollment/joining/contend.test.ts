import { beforeEach, describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { defined } from "../../../base/defined.ts";
import { systemRandom } from "../../../base/id.ts";
import { deriveCurveKey } from "../../../identity/curve.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { attestationMessage, enrollmentMessage } from "../../../wire/enrollment-messages.ts";
import type { Call } from "../../operation/mod.ts";
import { approve } from "../approve.ts";
import { repairOrphans } from "../repair.ts";
import { applyEvent } from "../store/apply.ts";
import { createDirectory } from "../store/directory.ts";
import { findByPeel, readEnrollments } from "../store/store.ts";
import { issueChallenge } from "./challenge.ts";
import type { EnrollDeps } from "./deps.ts";
import { takeSubmission } from "./enroll.ts";
import type { SentEvidence } from "./evidence-field.ts";
import type { Newcomer } from "./pending-table.ts";
import type { Admission, Candidate } from "./way-in.ts";

// Several hosts ask under one peel id: one that came first, and others that prove themselves.

const ownRoot = `sha256:${"ab".repeat(32)}`;
const otherRoot = `sha256:${"cd".repeat(32)}`;
const replaced = "replaced by a host that proved itself";
const clock = manualClock();

let enrollments: ReturnType<typeof memoryBucket>;
let challenges: ReturnType<typeof memoryBucket>;
let directory: ReturnType<typeof createDirectory>;
let audit: string[];
let givenBack: number;
let places: Newcomer[];
/** What the ways in decide about a host, by its key. */
let admissions: Map<string, Partial<Admission>>;
let seen: Candidate[];

beforeEach(() => {
  [enrollments, challenges] = [memoryBucket(), memoryBucket()];
  directory = createDirectory({ enrollments, log: recordingLog() });
  [audit, givenBack, places, admissions, seen] = [[], 0, [], new Map(), []];
});

const newHost = (peelId = "web_1") => {
  const key = newKeyPair("user", systemRandom);
  return { peelId, key, curve: deriveCurveKey(key).publicKey };
};
type Host = ReturnType<typeof newHost>;

/** A host that proves itself. */
const proven = (decide: Admission["decide"], by = "token:jtk-1", more: Partial<Admission> = {}): Host => {
  const host = newHost();
  admissions.set(host.key.publicKey, { decide, by, proven: true, ...more });
  return host;
};

const deps = (): EnrollDeps => ({
  ...{ enrollments, challenges, clock, random: systemRandom, ownCaSpkis: [ownRoot], log: recordingLog() },
  rivals: directory,
  pending: {
    async take(one) {
      places.push(one);
      return { occupy: (_, store) => store(), giveBack: () => {} };
    },
  },
  metrics: { keyMismatch: () => {} },
  waysIn: [
    {
      async judge(candidate) {
        seen.push(candidate);
        const found = admissions.get(candidate.submission.publicKey);
        if (found === undefined) return undefined;
        return { decide: "approve", by: "", giveBack: async () => void givenBack++, ...found };
      },
    },
  ],
  async begin({ action, by, enrollment }) {
    return async (outcome) => void audit.push(`${action} ${enrollment} by ${by}: ${outcome}`);
  },
  verifyEvidence: async ({ evidence }) =>
    evidence === undefined ? undefined : { type: "x509", fields: { subject: "CN=web-1" } },
});

const certificate: SentEvidence = { type: "x509", chainPem: "", signature: "" };

async function submit(host: Host, more: { evidence?: SentEvidence; root?: string } = {}, using = deps()) {
  const { peelId, key, curve } = host;
  const { publicKey } = key;
  const challenge = await issueChallenge({ challenges, clock, random: systemRandom }, { peelId, publicKey });
  const { root = ownRoot, evidence } = more;
  return takeSubmission(
    using,
    {
      ...{ peelId, publicKey, curvePublicKey: curve, challengeId: challenge.id },
      signature: key.sign(enrollmentMessage(challenge.bytes, curve)),
      attestation: {
        ...{ caSpki: root, signature: "" },
        signatureBytes: key.sign(attestationMessage(challenge.bytes, root)),
      },
      ...defined({ evidence }),
    },
    "192.0.2.7",
  );
}

const stored = async (id: string) => (await readEnrollments(enrollments)).find((one) => one.id === id);
const indexed = async () => (await findByPeel(enrollments, "web_1"))?.id;
const states = async () => (await readEnrollments(enrollments)).map(({ state }) => state).sort();

describe("a name that a stranger took first", () => {
  test.each([
    ["a token", "token:jtk-1"],
    ["an expected key", "expected:ann"],
  ])("goes to a host with %s", async (_, by) => {
    const { record: squatter } = await submit(newHost());
    const real = await submit(proven("approve", by));
    expect(real).toMatchObject({
      created: true,
      keyMismatch: false,
      record: { state: "approved", decidedBy: by },
    });
    expect(real.record.id).not.toBe(squatter.id);
    expect(real.record.rivalOf).toBeUndefined();
    expect(await stored(squatter.id)).toMatchObject({
      state: "rejected",
      decidedBy: by,
      rejectReason: replaced,
    });
    expect(await indexed()).toBe(real.record.id);
    expect(audit).toEqual([
      `enrollments.reject ${squatter.id} by ${by}: done`,
      `enrollments.approve ${real.record.id} by ${by}: done`,
    ]);
    expect(places).toMatchObject([
      { proven: false, waits: true },
      { proven: true, waits: false },
    ]);
  });

  test("stays with the stranger when the host proves nothing", async () => {
    const { record: squatter } = await submit(newHost());
    expect(await submit(newHost())).toMatchObject({
      record: { id: squatter.id },
      created: false,
      keyMismatch: true,
    });
    const held = newHost();
    admissions.set(held.key.publicKey, { decide: "hold", by: "expected:ann" });
    expect(await submit(held)).toMatchObject({ record: { id: squatter.id }, keyMismatch: true });
    expect(await states()).toEqual(["pending"]);
    expect([audit, givenBack]).toEqual([[], 1]);
  });

  test("stays with the stranger when the host trusted another root", async () => {
    const { record: squatter } = await submit(newHost());
    const before = seen.length;
    expect(await submit(proven("approve"), { root: otherRoot })).toMatchObject({
      ...{ record: { id: squatter.id }, keyMismatch: true },
    });
    expect(seen).toHaveLength(before);
  });

  test("goes to the host also when the stranger trusted another root", async () => {
    await submit(newHost(), { root: otherRoot });
    expect((await submit(proven("approve"))).record.state).toBe("approved");
  });

  test("goes to a host that an operator has to decide on, which keeps it", async () => {
    const { record: squatter } = await submit(newHost());
    const labels = { env: "lab" };
    const held = await submit(proven("hold", "token:jtk-1", { labels }));
    expect(held).toMatchObject({
      created: true,
      record: { state: "pending", provedBy: "token:jtk-1", labels },
    });
    expect(await stored(squatter.id)).toMatchObject({ state: "rejected", rejectReason: replaced });
    expect(directory.list({ state: "pending", limit: 9 })).toMatchObject([
      { id: held.record.id, proved_by: "token:jtk-1" },
    ]);
    // The next one proved itself as well, and came later.
    expect(await submit(proven("approve"))).toMatchObject({
      record: { id: held.record.id },
      keyMismatch: true,
    });
    await approve(
      { enrollments, clock, directory },
      { id: held.record.id, force: false, dropLabels: false },
      call(),
    );
    expect(await stored(held.record.id)).toMatchObject({ decidedBy: "ann", provedBy: "token:jtk-1" });
  });

  test("leaves the labels of the enrollment before to the host", async () => {
    const labels = { quarantine: "yes" };
    const before = await submit(proven("approve", "token:jtk-1", { labels }));
    await applyEvent({ enrollments, clock }, before.record.id, { type: "revoke", operator: "ann" });
    const { record: squatter } = await submit(newHost());
    const next = await submit(proven("approve"));
    expect(next.record).toMatchObject({ state: "approved", labels });
    expect((await stored(squatter.id))?.state).toBe("rejected");
  });

  test("a host that waits proves itself when it asks again, and then keeps its place", async () => {
    const host = newHost();
    const { record } = await submit(host);
    admissions.set(host.key.publicKey, { decide: "hold", by: "token:jtk-1", proven: true });
    expect((await submit(host)).record).toMatchObject({ id: record.id, provedBy: "token:jtk-1" });
    expect((await submit(host)).record.updatedAt).toBe((await stored(record.id))?.updatedAt ?? 0);
    expect(await submit(proven("approve"))).toMatchObject({ keyMismatch: true });
  });
});

describe("races", () => {
  test("of many hosts with a token on two masters, one gets the name", async () => {
    await submit(newHost());
    const [one, other] = [deps(), deps()];
    const hosts = Array.from({ length: 6 }, () => proven("approve"));
    const results = await Promise.allSettled(
      hosts.map((host, at) => submit(host, {}, at % 2 === 0 ? one : other)),
    );
    const won = results.filter((one) => one.status === "fulfilled" && one.value.created);
    expect(won).toHaveLength(1);
    expect((await states()).filter((state) => state !== "rejected")).toEqual(["approved"]);
    expect(await indexed()).toBe(
      (await readEnrollments(enrollments)).find(({ state }) => state === "approved")?.id,
    );
    expect(givenBack).toBeGreaterThanOrEqual(5);
  });

  test("an operator who approves the stranger at the same moment wins, or loses", async () => {
    for (let reads = 1; reads < 8; reads++) {
      enrollments = memoryBucket();
      directory = createDirectory({ enrollments, log: recordingLog() });
      const { record: squatter } = await submit(newHost());
      const { get } = enrollments;
      let left = reads;
      enrollments.get = async (key) => {
        if (--left === 0) {
          const event = { type: "approve", operator: "ann", force: false } as const;
          await applyEvent({ enrollments: { ...enrollments, get }, clock }, squatter.id, event).catch(
            () => {},
          );
        }
        return get(key);
      };
      const result = await submit(proven("approve")).catch(() => undefined);
      enrollments.get = get;
      const approved = (await readEnrollments(enrollments)).filter(({ state }) => state === "approved");
      expect(approved.map(({ id }) => id)).toEqual([result?.record.id ?? squatter.id]);
      expect(await indexed()).toBe(approved[0]?.id);
    }
  });

  test("a crash at any write leaves a name that the host gets when it asks again", async () => {
    for (let writes = 1; writes < 9; writes++) {
      enrollments = memoryBucket();
      directory = createDirectory({ enrollments, log: recordingLog() });
      await submit(newHost());
      const host = proven("approve");
      let left = writes;
      enrollments.beforeWrite = () => {
        if (--left <= 0) throw new Error("killed");
      };
      await submit(host).catch(() => {});
      enrollments.beforeWrite = () => {};
      expect((await submit(host)).record).toMatchObject({ state: "approved", publicKey: host.key.publicKey });
      expect((await states()).filter((state) => state !== "rejected")).toEqual(["approved"]);
    }
  });
});

describe("a host with evidence that nothing accepts", () => {
  test("waits next to the first, and both are shown", async () => {
    const { record: first } = await submit(newHost());
    const host = newHost();
    const second = await submit(host, { evidence: certificate });
    expect(second).toMatchObject({
      created: true,
      keyMismatch: false,
      record: { state: "pending", rivalOf: first.id },
    });
    expect(await indexed()).toBe(first.id);
    expect(
      directory.list({ state: "pending", limit: 9 }).map(({ id, contested }) => [id, contested]),
    ).toEqual(
      expect.arrayContaining([
        [first.id, true],
        [second.record.id, true],
      ]),
    );
    expect(places.at(-1)).toMatchObject({ proven: false, waits: true });
    // Its answer was lost, and it comes without its evidence.
    expect(await submit(host)).toMatchObject({
      record: { id: second.record.id },
      created: false,
      keyMismatch: false,
    });
    expect(directory.countPendingOf("192.0.2.7")).toBe(2);
  });

  test("gets the name when a policy accepts the evidence later, and not without the evidence", async () => {
    const { record: first } = await submit(newHost());
    const host = newHost();
    const { record } = await submit(host, { evidence: certificate });
    admissions.set(host.key.publicKey, { decide: "approve", by: "policy:racks", proven: true });
    expect(await submit(host)).toMatchObject({
      record: { id: record.id, state: "approved" },
      created: false,
    });
    expect(await stored(first.id)).toMatchObject({
      ...{ state: "rejected", decidedBy: "policy:racks", rejectReason: replaced },
    });
    expect(await indexed()).toBe(record.id);
  });

  test("is rejected where a policy rejects it, and the first stays", async () => {
    const { record: first } = await submit(newHost());
    const host = newHost();
    admissions.set(host.key.publicKey, { decide: "reject", by: "policy:not" });
    const { record } = await submit(host, { evidence: certificate });
    expect(record).toMatchObject({ state: "rejected", decidedBy: "policy:not" });
    expect([await indexed(), (await stored(first.id))?.state]).toEqual([first.id, "pending"]);
  });

  test("waits at most as the third, on two masters at once as well", async () => {
    const { record: first } = await submit(newHost());
    const results = await Promise.all(
      Array.from({ length: 5 }, () => submit(newHost(), { evidence: certificate }, deps())),
    );
    expect(results.filter(({ created }) => created)).toHaveLength(2);
    expect(results.filter(({ keyMismatch }) => keyMismatch).map(({ record }) => record.id)).toEqual([
      ...[first.id, first.id, first.id],
    ]);
    expect(await states()).toEqual(["pending", "pending", "pending"]);
  });

  test("does not come next to one that has evidence itself", async () => {
    const { record: first } = await submit(newHost(), { evidence: certificate });
    expect(await submit(newHost(), { evidence: certificate })).toMatchObject({
      ...{ record: { id: first.id }, keyMismatch: true },
    });
  });

  test("loses against a token", async () => {
    const { record: first } = await submit(newHost());
    const { record: second } = await submit(newHost(), { evidence: certificate });
    const { record } = await submit(proven("approve"));
    expect(await stored(first.id)).toMatchObject({ state: "rejected", rejectReason: replaced });
    expect(await stored(second.id)).toMatchObject({ state: "rejected", rejectReason: replaced });
    expect(await indexed()).toBe(record.id);
  });
});

const call = (caller: Call["caller"] = { kind: "operator", name: "ann", door: "bus" }): Call => ({
  ...{ caller, clock, log: recordingLog() },
});

describe("an operator", () => {
  const otherApproved = "another host with this peel id was approved";
  const both = async () => {
    const { record: first } = await submit(newHost());
    const { record: second } = await submit(newHost(), { evidence: certificate });
    return [first, second] as const;
  };
  const decide = (id: string, by = call()) =>
    approve({ enrollments, clock, directory }, { id, force: false, dropLabels: false }, by);

  test.each([0, 1] as const)("approves one of two, and the other is rejected (%d)", async (which) => {
    const pair = await both();
    const [good, bad] = [pair[which], pair[which === 0 ? 1 : 0]];
    const { record, rejected } = await decide(good.id);
    expect(record).toMatchObject({ id: good.id, state: "approved", decidedBy: "ann" });
    expect(rejected).toEqual([bad.id]);
    expect(await stored(bad.id)).toMatchObject({ decidedBy: "ann", rejectReason: otherApproved });
    expect(await indexed()).toBe(good.id);
  });

  test("rejects the first: the second can be approved, and a stranger may come in between", async () => {
    const [first, second] = await both();
    await applyEvent({ enrollments, clock }, first.id, { type: "reject", operator: "ann" });
    const { record: third } = await submit(newHost());
    expect(await indexed()).toBe(third.id);
    expect((await decide(second.id)).rejected).toEqual([third.id]);
    expect(await indexed()).toBe(second.id);
  });

  test("approves neither through a rule of the reactor, nor without a master", async () => {
    const [first, second] = await both();
    const reactor = call({ kind: "reactor", rule: "all", door: "reactor" });
    const direct = call({ kind: "operator", name: "ann", door: "direct" });
    const refused = (kind: string) =>
      expect.objectContaining({ kind, message: expect.stringContaining("several hosts wait") });
    // A conflict would be repeated by the reactor for ever.
    await expect(decide(second.id, reactor)).rejects.toThrow(refused("forbidden"));
    await expect(decide(first.id, reactor)).rejects.toThrow(refused("forbidden"));
    await expect(decide(second.id, direct)).rejects.toThrow(refused("conflict"));
    expect(await states()).toEqual(["pending", "pending"]);
  });

  test("approves both at once: one of them is a member, the other one rejected", async () => {
    const [first, second] = await both();
    await Promise.allSettled([decide(first.id), decide(second.id)]);
    expect(await states()).toEqual(["approved", "rejected"]);
  });

  test("a master that died before it rejected the other one leaves that to the others", async () => {
    const [first, second] = await both();
    await applyEvent({ enrollments, clock }, first.id, { type: "approve", operator: "ann", force: false });
    const repair = repairOrphans({ enrollments, directory, clock, log: recordingLog() });
    for (let turn = 0; turn < 100 && (await states()).includes("pending"); turn++) await Promise.resolve();
    repair.stop();
    expect(await stored(second.id)).toMatchObject({ decidedBy: "ann", rejectReason: otherApproved });
  });
});
