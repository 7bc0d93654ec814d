import { beforeEach, describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { systemRandom } from "../../../base/id.ts";
import { deriveCurveKey } from "../../../identity/curve.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { attestationMessage, enrollmentMessage } from "../../../wire/enrollment-messages.ts";
import { decodeRecord, type Enrollment } from "../record/record.ts";
import { applyEvent } from "../store/apply.ts";
import { createDirectory } from "../store/directory.ts";
import { readEnrollments, removePending } from "../store/store.ts";
import { eventOfAdmission } from "./admit.ts";
import { issueChallenge } from "./challenge.ts";
import type { Decision, EnrollDeps } from "./deps.ts";
import { takeSubmission } from "./enroll.ts";
import type { SentEvidence } from "./evidence-field.ts";
import type { Admission, Candidate } from "./way-in.ts";

// Hosts that ask to join a fleet where something else than an operator may decide.

const ownRoot = `sha256:${"ab".repeat(32)}`;
const otherRoot = `sha256:${"cd".repeat(32)}`;

let enrollments: ReturnType<typeof memoryBucket>;
let challenges: ReturnType<typeof memoryBucket>;
let directory: ReturnType<typeof createDirectory>;
/** What happened, in order. */
let events: string[];
let answers: (Admission | Error | undefined)[];
let seen: Candidate[];
let auditFails: boolean;
const clock = manualClock();

beforeEach(() => {
  [enrollments, challenges] = [memoryBucket(), memoryBucket()];
  directory = createDirectory({ enrollments, log: recordingLog() });
  [events, answers, seen, auditFails] = [[], [], [], false];
});

const newHost = (peelId: string) => {
  const key = newKeyPair("user", systemRandom);
  return { peelId, key, curve: deriveCurveKey(key).publicKey };
};

async function submit(
  { peelId, key, curve }: ReturnType<typeof newHost>,
  root = ownRoot,
  { sent, verifyEvidence }: { sent?: SentEvidence; verifyEvidence?: EnrollDeps["verifyEvidence"] } = {},
) {
  const { publicKey } = key;
  const challenge = await issueChallenge({ challenges, clock, random: systemRandom }, { peelId, publicKey });
  const signatureBytes = key.sign(attestationMessage(challenge.bytes, root));
  const way = {
    async judge(candidate: Candidate) {
      seen.push(candidate);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const deps: EnrollDeps = {
    ...{ enrollments, challenges, clock, random: systemRandom, ownCaSpkis: [ownRoot], log: recordingLog() },
    rivals: directory,
    pending: { take: async () => ({ occupy: (_, store) => store(), giveBack: () => {} }) },
    metrics: { keyMismatch: () => events.push("key mismatch") },
    waysIn: [{ judge: async () => undefined }, way],
    async begin({ action, by }: Decision) {
      if (auditFails) throw new SvcError("unavailable", "the audit cannot be written");
      events.push(`${action} by ${by}`);
      return async (outcome) => void events.push(outcome);
    },
    ...defined({ verifyEvidence }),
  };
  const submission = {
    ...{ peelId, publicKey, curvePublicKey: curve, challengeId: challenge.id },
    signature: key.sign(enrollmentMessage(challenge.bytes, curve)),
    attestation: { caSpki: root, signature: "", signatureBytes },
    ...defined({ evidence: sent }),
  };
  return takeSubmission(deps, submission, "192.0.2.7");
}

const admission = (decide: Admission["decide"], more: Partial<Admission> = {}): Admission => ({
  ...{ decide, by: "token:jtk-1", giveBack: async () => void events.push("given back") },
  ...more,
});

describe("a host that asks for the first time", () => {
  const labels = { env: "lab" };
  test.each<[string, Admission | undefined, Partial<Enrollment>, string[]]>([
    ["nothing decides", undefined, { state: "pending" }, []],
    [
      "it is approved",
      admission("approve", { labels }),
      { state: "approved", decidedBy: "token:jtk-1", labels },
      ["enrollments.approve by token:jtk-1", "done"],
    ],
    [
      "it is refused",
      admission("reject", { reason: "not ours", labels }),
      { state: "rejected", decidedBy: "token:jtk-1", rejectReason: "not ours" },
      ["enrollments.reject by token:jtk-1", "done", "given back"],
    ],
    ["it is held", admission("hold", { labels }), { state: "pending", labels }, ["given back"]],
  ])("%s", async (_, answer, made, expected) => {
    answers = [answer];
    const { record, created } = await submit(newHost("web_1"));
    expect({ record, created }).toMatchObject({ record: { ...made, address: "192.0.2.7" }, created: true });
    expect(record).toEqual((await readEnrollments(enrollments))[0] as Enrollment);
    expect(events).toEqual(expected);
  });

  test("a way in that refuses it leaves no record", async () => {
    answers = [new SvcError("forbidden", "join token has ended")];
    await expect(submit(newHost("web_1"))).rejects.toThrow("join token has ended");
    expect(await enrollments.entries()).toEqual([]);
  });

  test("is never stored as decided before its index names it, also in a race", async () => {
    const host = newHost("web_1");
    answers = [admission("approve"), admission("approve"), admission("approve")];
    const written: (string | undefined)[] = [];
    enrollments.beforeWrite = async (key) => {
      if (key.startsWith("peel.")) return;
      written.push((await enrollments.get(key)) === undefined ? "new" : undefined);
    };
    await Promise.allSettled([submit(host), submit(host), submit(host)]);
    expect(written.filter((one) => one === "new").length).toBeGreaterThan(1);
    const ids = new Set(seen.map(({ record }) => record.id));
    const first = await Promise.all([...ids].map(async (id) => (await enrollments.history(id))[0]));
    const states = first.flatMap((entry) => (entry === undefined ? [] : decodeRecord(entry.value).state));
    expect(new Set(states)).toEqual(new Set(["pending"]));
    expect(await readEnrollments(enrollments)).toMatchObject([{ state: "approved" }]);
  });

  test("without an audit nothing is decided, and nothing is used up", async () => {
    [answers, auditFails] = [[admission("approve")], true];
    await expect(submit(newHost("web_1"))).rejects.toThrow("the audit cannot be written");
    expect(await enrollments.entries()).toEqual([]);
    expect(events).toEqual(["given back"]);
  });

  test("a host that trusts another root is held, with its labels", async () => {
    answers = [admission("approve", { labels })];
    const { record } = await submit(newHost("web_1"), otherRoot);
    expect(record).toMatchObject({ state: "pending", trustMismatch: true, labels });
    expect(record.decidedBy).toBeUndefined();
    expect(events).toEqual(["given back"]);
  });
});

describe("a host that waits already", () => {
  test("is approved by a way that is open now", async () => {
    const host = newHost("web_1");
    const { record } = await submit(host);
    answers = [admission("approve", { labels: { env: "lab" } })];
    const again = await submit(host);
    expect(again).toMatchObject({ record: { id: record.id, state: "approved" }, created: false });
    expect(seen.map(({ waits }) => waits)).toEqual([undefined, true]);
    expect(events).toEqual(["enrollments.approve by token:jtk-1", "done"]);
  });

  test("is a member when an operator was first, and nothing is used up", async () => {
    const host = newHost("web_1");
    const { record } = await submit(host);
    const slow = admission("approve");
    answers = [slow];
    // Between the read of the record and its change.
    const { get } = enrollments;
    let reads = 0;
    enrollments.get = async (key) => {
      if (key === record.id && ++reads === 2) {
        const event = { type: "approve", operator: "ann", force: false } as const;
        await applyEvent({ enrollments: { ...enrollments, get }, clock }, key, event);
      }
      return get(key);
    };
    await expect(submit(host)).rejects.toThrow("already has an active enrollment");
    expect(events).toEqual(["enrollments.approve by token:jtk-1", "failed", "given back"]);
    expect((await readEnrollments(enrollments))[0]).toMatchObject({ state: "approved", decidedBy: "ann" });
  });

  test("labels that it has already change nothing", () => {
    const record = { labels: { a: "1", b: "2" } };
    expect(eventOfAdmission(record, admission("hold", { labels: { b: "2", a: "1" } }))).toBeUndefined();
    expect(eventOfAdmission(record, admission("hold", { labels: { a: "1" } }))).toMatchObject({
      type: "hold",
      labels: { a: "1" },
    });
  });
});

describe("evidence", () => {
  const sent: SentEvidence = { type: "x509", chainPem: "", signature: "" };
  const proving = (fields: Record<string, string>) => ({
    sent,
    verifyEvidence: async () => ({ type: "x509" as const, fields }),
  });

  test("is in the record that the ways in see", async () => {
    const { record } = await submit(newHost("web_1"), ownRoot, proving({ subject: "CN=web" }));
    expect(record.evidence).toEqual({ type: "x509", fields: { subject: "CN=web" } });
    expect(seen[0]?.record.evidence).toEqual(record.evidence);
  });

  test("that does not verify leaves no record", async () => {
    const verifyEvidence = async () => {
      throw new SvcError("unauthorized", "evidence does not verify: expired");
    };
    await expect(submit(newHost("web_1"), ownRoot, { sent, verifyEvidence })).rejects.toThrow(
      "evidence does not",
    );
    expect(await enrollments.entries()).toEqual([]);
  });

  test("is ignored by a master that is not configured for it", async () => {
    for (const verifyEvidence of [undefined, async () => undefined]) {
      const host = newHost("web_1");
      const { record } = await submit(host, ownRoot, { sent, ...defined({ verifyEvidence }) });
      expect([record.state, record.evidence]).toEqual(["pending", undefined]);
      await enrollments.remove(record.id, (await enrollments.get(record.id))?.revision ?? 0);
    }
  });

  test("of a host that waits already is added before a way in decides, and stays without new evidence", async () => {
    const host = newHost("web_1");
    const { record } = await submit(host);
    await submit(host, ownRoot, proving({ subject: "CN=old" }));
    answers = [undefined, admission("approve")];
    await submit(host);
    const again = await submit(host, ownRoot, proving({ subject: "CN=new" }));
    expect(again.record).toMatchObject({ id: record.id, state: "approved" });
    const subjects = seen.map((candidate) => candidate.record.evidence?.fields.subject);
    expect(subjects).toEqual([undefined, "CN=old", "CN=old", "CN=new"]);
    expect(again.record.evidence?.fields).toEqual({ subject: "CN=new" });
  });
});

describe("a host whose enrollment before had labels", () => {
  const labels = { team: "db", rack: "7" };
  const ended = async (peelId: string, set = labels) => {
    answers = [admission("approve", { labels: set })];
    const { record } = await submit(newHost(peelId));
    await applyEvent({ enrollments, clock }, record.id, { type: "revoke", operator: "ann" });
    return record.id;
  };

  test("starts without, and is approved with these", async () => {
    const before = await ended("web_1");
    const { record } = await submit(newHost("web_1"));
    expect(record).toMatchObject({ state: "pending", former: { enrollment: before, labels } });
    expect(record).not.toHaveProperty("labels");
    const event = { type: "approve", operator: "ann", force: false } as const;
    const approved = await applyEvent({ enrollments, clock }, record.id, event);
    expect(approved.labels).toEqual(labels);
    expect(approved).not.toHaveProperty("former");
  });

  test("also after it was refused, or waited until it was dropped", async () => {
    const before = await ended("web_1");
    const refused = (await submit(newHost("web_1"))).record;
    await applyEvent({ enrollments, clock }, refused.id, { type: "reject", operator: "ann" });
    const dropped = (await submit(newHost("web_1"))).record;
    expect(await removePending(enrollments, dropped.id, clock.now())).toBe(true);
    const { record } = await submit(newHost("web_1"));
    expect(record.former).toEqual({ enrollment: before, labels });
  });

  test("waits when it would have more than a peel may have", async () => {
    const many = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`n${at}`, ""]));
    await ended("web_1", many as never);
    answers = [admission("approve", { labels: { other: "1" } })];
    expect((await submit(newHost("web_1"))).record.state).toBe("pending");
    expect(events.at(-1)).toBe("given back");
  });
});
