import { beforeEach, describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { attestationMessage, enrollmentMessage } from "../../wire/enrollment-messages.ts";
import { issueChallenge } from "../enrollment/joining/challenge.ts";
import type { EnrollDeps } from "../enrollment/joining/deps.ts";
import { takeSubmission } from "../enrollment/joining/enroll.ts";
import type { Enrollment } from "../enrollment/record/record.ts";
import { applyEvent } from "../enrollment/store/apply.ts";
import { createDirectory } from "../enrollment/store/directory.ts";
import { findByPeel, readEnrollments } from "../enrollment/store/store.ts";
import { type AddDeps, addHosts } from "./add.ts";
import { openExpected } from "./open-ways.ts";
import { decodeExpected, type ExpectedHost, encodeExpected } from "./record.ts";
import { take } from "./taken.ts";
import { followExpected } from "./view.ts";
import { createExpectedWay } from "./way-in.ts";

const day = 24 * 3_600_000;
const root = `sha256:${"ab".repeat(32)}`;
const otherRoot = `sha256:${"cd".repeat(32)}`;
const mac = createRecordMac(newKeyPair("account", systemRandom));

let bucket: ReturnType<typeof memoryBucket>;
let enrollments: ReturnType<typeof memoryBucket>;
let challenges: ReturnType<typeof memoryBucket>;
let clock: ReturnType<typeof manualClock>;
let log: ReturnType<typeof recordingLog>;
let lacking: string | undefined;

beforeEach(() => {
  [bucket, enrollments, challenges] = [memoryBucket(), memoryBucket(), memoryBucket()];
  [clock, log] = [manualClock(), recordingLog()];
  lacking = undefined;
});

const deps = (): AddDeps => ({
  ...{ bucket, mac, enrollments, clock, log, view: view() },
  directory: {
    caughtUp: async () => {},
    // The test knows the records only from the bucket.
    stateOf: (peelId) => states.get(peelId),
  },
});
const view = () => followExpected({ bucket, mac, log });
const states = new Map<string, Enrollment["state"]>();
beforeEach(() => states.clear());

const newHost = (peelId: string) => {
  const key = newKeyPair("user", systemRandom);
  return { peelId, key, curve: deriveCurveKey(key).publicKey };
};
type Host = ReturnType<typeof newHost>;

const add = (host: Host, labels?: Record<string, string>, publicKey = host.key.publicKey) =>
  addHosts(deps(), {
    hosts: [{ peelId: host.peelId, publicKey, ...(labels === undefined ? {} : { labels }) }],
    ...{ by: "ann", ttlMs: 30 * day, checks: false },
  });

/** Another master, with what is stored. */
async function request({ peelId, key, curve }: Host, trusted = root, using = { enrollments }) {
  const { publicKey } = key;
  const random = systemRandom;
  const challenge = await issueChallenge({ challenges, clock, random }, { peelId, publicKey });
  const signatureBytes = key.sign(attestationMessage(challenge.bytes, trusted));
  const master: EnrollDeps = {
    ...{ ...using, challenges, clock, random, ownCaSpkis: [root], log },
    rivals: createDirectory({ enrollments, log }),
    pending: { take: async () => ({ occupy: (_, store) => store(), giveBack: () => {} }) },
    metrics: { keyMismatch: () => {} },
    waysIn: [createExpectedWay({ ...deps(), ...using, lacks: async () => lacking })],
    begin: async () => async () => {},
  };
  return takeSubmission(master, {
    ...{ peelId, publicKey, curvePublicKey: curve, challengeId: challenge.id },
    signature: key.sign(enrollmentMessage(challenge.bytes, curve)),
    attestation: { caSpki: trusted, signature: "", signatureBytes },
  });
}

const entry = async () => (await view().all())[0]?.host;

describe("an expected host", () => {
  test("is enrolled with its labels, once", async () => {
    const host = newHost("web_1");
    expect(await add(host, { env: "lab" })).toEqual(["added"]);
    const { record, created } = await request(host);
    expect(created).toBe(true);
    expect(record).toMatchObject({ state: "approved", decidedBy: "expected:ann", labels: { env: "lab" } });
    expect((await entry())?.takenBy).toBe(record.id);
    await revoke(record);
    expect((await request(host)).record.state).toBe("pending");
  });

  test("gets the same answer again when the first one was lost", async () => {
    const host = newHost("web_1");
    await add(host);
    const { record } = await request(host);
    expect(await request(host)).toMatchObject({
      record: { id: record.id, state: "approved" },
      created: false,
    });
  });

  test("waits without labels while the operator who expects it may not set them, and its entry stays", async () => {
    const host = newHost("web_1");
    await add(host, { env: "lab" });
    lacking = "enrollments label env=lab";
    const { record } = await request(host);
    expect(record.state).toBe("pending");
    expect(record).not.toHaveProperty("labels");
    expect((await entry())?.takenBy).toBeUndefined();
    expect(log.records.map(({ event }) => event)).toContain(
      "an expected host waits: who expected it lacks the right to give its labels",
    );
    // Control: with the right again.
    lacking = undefined;
    expect((await request(host)).record).toMatchObject({
      ...{ id: record.id, state: "approved", labels: { env: "lab" } },
    });
  });

  test("is enrolled when a master crashed after it took the entry", async () => {
    const host = newHost("web_1");
    await add(host);
    const { publicKey } = host.key;
    const taking = { peelId: "web_1", publicKey, enrollment: "enr-000000000000000000000000000" };
    expect(await take(deps(), taking, clock.now())).toBeDefined();
    const { record } = await request(host);
    expect(record.state).toBe("approved");
    expect((await entry())?.takenBy).toBe(record.id);
  });

  test("is free again when its record cannot be stored", async () => {
    const host = newHost("web_1");
    await add(host);
    enrollments.beforeWrite = () => {
      throw new Error("the disk is full");
    };
    await expect(request(host)).rejects.toThrow("the disk is full");
    expect((await entry())?.takenBy).toBeUndefined();
    enrollments.beforeWrite = () => {};
    expect((await request(host)).record.state).toBe("approved");
  });

  test("that waits already is enrolled when it asks again", async () => {
    const host = newHost("web_1");
    const { record } = await request(host);
    states.set("web_1", "pending");
    expect(await add(host)).toEqual(["waits"]);
    expect(await request(host)).toMatchObject({
      record: { id: record.id, state: "approved" },
      created: false,
    });
  });

  test("that trusts another root is held, and its entry stays", async () => {
    const host = newHost("web_1");
    await add(host, { env: "lab" });
    const { record } = await request(host, otherRoot);
    expect(record).toMatchObject({ state: "pending", trustMismatch: true, labels: { env: "lab" } });
    expect((await entry())?.takenBy).toBeUndefined();
  });

  test("with another key is held, and told in the log", async () => {
    await add(newHost("web_1"), { env: "lab" });
    const { record } = await request(newHost("web_1"));
    expect(record.state).toBe("pending");
    expect(record.labels).toBeUndefined();
    expect(log.records.map(({ event }) => event)).toContain(
      "a host asks under an expected peel id with another key",
    );
    expect((await entry())?.takenBy).toBeUndefined();
  });

  test("whose time is over is left to others", async () => {
    const host = newHost("web_1");
    await add(host);
    clock.advance(30 * day);
    expect((await request(host)).record.state).toBe("pending");
  });

  test("that was rejected after it was expected stays out", async () => {
    const host = newHost("web_1");
    const { record } = await request(host);
    await add(host);
    clock.advance(1_000);
    await applyEvent({ enrollments, clock }, record.id, { type: "reject", operator: "bob" });
    expect((await request(host)).record.state).toBe("pending");
    // A later entry is a new decision.
    await applyEvent({ enrollments, clock }, (await current("web_1")).id, {
      type: "reject",
      operator: "bob",
    });
    clock.advance(1_000);
    await add(host);
    expect((await request(host)).record.state).toBe("approved");
  });

  test("of which two masters hear at the same moment is enrolled once, and its entry is used", async () => {
    for (let round = 0; round < 20; round++) {
      const host = newHost(`web_${round}`);
      await add(host);
      const answers = await Promise.allSettled([request(host), request(host), request(host)]);
      const ids = answers.flatMap((one) => (one.status === "fulfilled" ? one.value.record : []));
      expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
      expect(ids[0]?.state).toBe("approved");
      const [{ id }] = [await current(host.peelId)];
      const all = await view().all();
      expect(all.find(({ peelId }) => peelId === host.peelId)?.host?.takenBy).toBe(id);
    }
    expect(await readEnrollments(enrollments)).toHaveLength(20);
  });
});

describe("expecting", () => {
  test("the same host again renews it; another key is refused while nobody used it", async () => {
    const host = newHost("web_1");
    await add(host);
    clock.advance(day);
    expect(await add(host, { env: "lab" })).toEqual(["renewed"]);
    expect(await entry()).toMatchObject({ endsAt: clock.now() + 30 * day, labels: { env: "lab" } });
    await expect(add(newHost("web_1"))).rejects.toThrow("web.1 is expected with another key");
    expect((await entry())?.publicKey).toBe(host.key.publicKey);
  });

  test("looks at all hosts before it writes one", async () => {
    const [known, other] = [newHost("web_1"), newHost("web_2")];
    await add(known);
    const named = [other, newHost("web_1")].map(({ peelId, key: { publicKey } }) => ({ peelId, publicKey }));
    const all = { hosts: named, by: "ann", ttlMs: day, checks: false };
    await expect(addHosts(deps(), all)).rejects.toThrow("another key");
    expect(bucket.keys).toEqual(["web_1"]);
    const twice = { ...all, hosts: [...named.slice(0, 1), ...named.slice(0, 1)] };
    await expect(addHosts(deps(), twice)).rejects.toThrow("hosts: web.2 appears twice");
  });

  test("a check writes nothing, and a member is left out", async () => {
    const host = newHost("web_1");
    const hosts = [{ peelId: "web_1", publicKey: host.key.publicKey }];
    expect(await addHosts(deps(), { hosts, by: "ann", ttlMs: day, checks: true })).toEqual(["added"]);
    expect(bucket.keys).toEqual([]);
    states.set("web_1", "active");
    expect(await add(host)).toEqual(["member"]);
    expect(bucket.keys).toEqual([]);
  });

  test("removes what has ended", async () => {
    await add(newHost("web_1"));
    clock.advance(31 * day);
    await add(newHost("web_2"));
    expect(bucket.keys).toEqual(["web_2"]);
  });
});

test("what is open names the hosts of an operator together, and that entries have labels", async () => {
  await add(newHost("web-1"));
  const [one] = await openExpected(view(), clock);
  expect(one).toMatchObject({ name: "ann", uses: 1, conditions: "the key of each host, once" });
  await add(newHost("web-2"), { env: "lab" });
  expect(await openExpected(view(), clock)).toMatchObject([
    {
      peels: "web-1, web-2",
      uses: 2,
      conditions: "the key of each host, once; it gets the labels of its entry",
    },
  ]);
});

describe("a stored entry", () => {
  const host: ExpectedHost = {
    ...{ peelId: "web_1", publicKey: newKeyPair("user", systemRandom).publicKey, by: "ann" },
    ...{ at: 1_000, endsAt: 2_000, labels: { env: "lab" } },
    takenBy: "enr-1",
    takenAt: 1_500,
  };
  const { takenBy: _, takenAt: __, ...open } = host;

  test("is read as it was written", () => {
    expect(decodeExpected(mac, "web_1", encodeExpected(mac, host))).toEqual(host);
    expect(decodeExpected(mac, "web_1", encodeExpected(mac, open))).toEqual(open);
  });

  test("counts only under its own key, and from a master", async () => {
    expect(decodeExpected(mac, "web_2", encodeExpected(mac, host))).toBeUndefined();
    const thief = createRecordMac(newKeyPair("account", systemRandom));
    const requested = newHost("web_1");
    const forged = { ...open, publicKey: requested.key.publicKey, endsAt: clock.now() + day };
    await bucket.put("web_1", encodeExpected(thief, forged));
    expect((await request(requested)).record.state).toBe("pending");
    await bucket.put("web_1", Buffer.from("no entry"));
    await revoke(await current("web_1"));
    expect((await request(requested)).record.state).toBe("pending");
    const errors = log.records.filter(({ level }) => level === "error").map(({ event }) => event);
    // The list reads it as well.
    expect([...new Set(errors)]).toEqual([
      "a stored entry of an expected host is not from a master; it does not count",
      "a stored entry of an expected host cannot be read; it does not count",
    ]);
    // It does not keep an operator from expecting the host.
    await revoke(await current("web_1"));
    clock.advance(1_000);
    await add(requested);
    expect((await request(requested)).record.state).toBe("approved");
  });
});

async function current(peelId: string): Promise<Enrollment> {
  const record = (await findByPeel(enrollments, peelId))?.current?.record;
  if (record === undefined) throw new Error(`${peelId} has no record`);
  return record;
}

/** Ends a record: what waits is rejected. */
async function revoke({ id, state }: Enrollment): Promise<void> {
  const type = state === "pending" ? "reject" : "revoke";
  await applyEvent({ enrollments, clock }, id, { type, operator: "bob" });
}

test("an operator who was first is not overtaken", async () => {
  const host = newHost("web_1");
  const { record } = await request(host);
  await add(host);
  const { get } = enrollments;
  let reads = 0;
  const slow = {
    ...enrollments,
    get: async (key: string) => {
      if (key === record.id && ++reads === 3) {
        await applyEvent({ enrollments, clock }, key, { type: "approve", operator: "ann", force: false });
      }
      return get(key);
    },
  };
  await expect(request(host, root, { enrollments: slow })).rejects.toThrow(
    "already has an active enrollment",
  );
  expect(await current("web_1")).toMatchObject({ state: "approved", decidedBy: "ann" });
});
