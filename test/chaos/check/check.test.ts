import { describe, expect, test } from "bun:test";
import type { Call, EndedJob, Entry, FinalState } from "../history.ts";
import { checkAll, invariants } from "./check.ts";
import { stuckStreams } from "./replicas.ts";

// A run without a violation; each test plants one, and only its invariant may find it.

const call = (at: number, operation: Call["operation"], status: number, more: Partial<Call> = {}): Call => ({
  kind: "call",
  at,
  ended: at + 100,
  door: "rest",
  master: "m1",
  operation,
  status,
  ...more,
});
const ready = (at: number, status: number): Entry => ({ kind: "ready", at, master: "m1", status });

const job: EndedJob = {
  targets: ["p1", "p2"],
  outcomes: { p1: "ok", p2: "offline" },
  counts: { ok: 1, offline: 1 },
  token: "t1",
};
const good = {
  history: [
    call(0, "enroll", 201, { enrollment: "enr-1", peel: "x" }),
    call(100, "approve", 200, { enrollment: "enr-1" }),
    call(150, "reject", 409, { enrollment: "enr-1" }),
    call(200, "credentials", 200, { enrollment: "enr-1" }),
    call(210, "credentials", 409, { enrollment: "enr-1", master: "m2" }),
    call(300, "revoke", 200, { enrollment: "enr-1" }),
    call(1_000, "dispatch", 202, { job: "job-1", token: "t1" }),
    call(1_500, "show", 200, { job: "job-1", outcomes: { p1: "pending", p2: "pending" } }),
    call(2_000, "rollout", 202, { rollout: "rol-1", token: "r1" }),
    call(2_100, "dispatch", 0, { token: "t2" }),
  ] as Entry[],
  final: {
    enrollments: {
      m1: [{ id: "enr-1", peel: "x", state: "revoked" }],
      m2: [{ id: "enr-1", peel: "x", state: "revoked" }],
    },
    jobs: { m1: { "job-1": job }, m2: { "job-1": job } },
    rollouts: { m1: ["rol-1"], m2: ["rol-1"] },
    effects: { p1: ["t1", "r1"], p2: ["t2", "r1"] },
    revoked: [{ enrollment: "enr-1", server: "n1", connected: false }],
    seen: {},
    replicas: ["n1", "n2"].map((server) => ({
      stream: "KV_jobs",
      server,
      messages: 2,
      bytes: 90,
      first: 1,
      last: 2,
    })),
    servers: 2,
  } as FinalState,
};

/** The texts of the violations of a run that differs from the good one, by invariant. */
function findIn({ history = [], final = {} }: { history?: Entry[]; final?: Partial<FinalState> }) {
  const found = checkAll([...good.history, ...history], { ...good.final, ...final });
  return found.map(({ invariant, text }) => `${invariant}: ${text}`);
}

const bothShow = (shown: EndedJob | null) => ({ m1: { "job-1": shown }, m2: { "job-1": shown } });
const bothList = (...list: { id: string; peel: string; state: string }[]) => ({ m1: list, m2: list });
const known = { id: "enr-1", peel: "x", state: "revoked" };

test("a run that keeps every promise has no violation", () => {
  expect(findIn({})).toEqual([]);
});

test("what was refused or not answered may be lost", () => {
  const refused = [409, 500, 0].map((status) => call(3_000, "approve", status, { enrollment: "enr-9" }));
  expect(findIn({ history: [...refused, call(3_000, "dispatch", 500, { token: "t9" })] })).toEqual([]);
});

describe("a planted violation is found:", () => {
  test("an enrollment approved and rejected", () => {
    const rejected = call(160, "reject", 200, { enrollment: "enr-1", master: "m2" });
    expect(findIn({ history: [rejected] })).toContain(
      "one state: enr-1 was answered as approve and as reject",
    );
  });

  test("an enrollment in a state for each master", () => {
    const enrollments = { m1: [known], m2: [{ ...known, state: "active" }] };
    expect(findIn({ final: { enrollments } })).toContain("one state: enr-1 is revoked for m1, active for m2");
  });

  test("two live enrollments of one peel", () => {
    const live = ["enr-2", "enr-3"].map((id) => ({ id, peel: "y", state: "active" }));
    expect(findIn({ final: { enrollments: bothList(known, ...live) } })[0]).toBe(
      "one state: enr-3 and enr-2 are both live for y on m1",
    );
  });

  test("credentials issued twice", () => {
    const again = call(205, "credentials", 200, { enrollment: "enr-1", master: "m2" });
    expect(findIn({ history: [again] })).toEqual([
      "credentials once: enr-1 had its credentials issued 2 times: by m1, m2",
    ]);
  });

  test("a revoked peel that connects", () => {
    const revoked = [{ enrollment: "enr-1", server: "n2", connected: true }];
    expect(findIn({ final: { revoked } })).toEqual([
      "revoked stay out: enr-1 is revoked and connected to n2",
    ]);
  });

  test("a revoked peel that connects counts for the time when it was first seen", () => {
    const revoked = ["n1", "n2"].map((server) => ({ enrollment: "enr-1", server, connected: true }));
    const final = { ...good.final, revoked, seen: { "enr-1": 9_000 } };
    expect(checkAll(good.history, final)).toEqual([
      { invariant: "revoked stay out", at: 9_000, text: "enr-1 is revoked and connected to n1, n2" },
    ]);
  });

  test("a side effect twice, and one that nobody asked for", () => {
    expect(findIn({ final: { effects: { ...good.final.effects, p1: ["t1", "t1", "t9"] } } })).toEqual([
      "effects once: t9 was not asked for on p1",
      "effects once: t1 ran 2 times on p1",
    ]);
  });

  test.each([
    ["a count that does not add up", { ...job, counts: { ok: 1 } }, 'has 2 targets and counts {"ok":1}'],
    ["no end", { ...job, outcomes: { p1: "ok", p2: "pending" } }, "is pending on p2"],
    [
      "ok without an effect",
      { ...job, token: "t2", outcomes: { p1: "ok", p2: "ok" } },
      "is ok on p1 and did not succeed",
    ],
    ["ok where the command fails", { ...job, failing: true }, "is ok on p1 and did not succeed"],
    [
      "offline with an effect",
      { ...job, outcomes: { p1: "offline", p2: "offline" } },
      "is offline on p1 and ran",
    ],
  ])("an outcome: %s", (_, shown, text) => {
    expect(findIn({ final: { jobs: bothShow(shown) } })).toEqual([`one true outcome: job-1 ${text}`]);
  });

  test("an outcome that differs between masters", () => {
    const other = { ...job, outcomes: { p1: "ok", p2: "timeout" } };
    expect(findIn({ final: { jobs: { m1: { "job-1": job }, m2: { "job-1": other } } } })).toEqual([
      'one true outcome: job-1 is {"p1":"ok","p2":"offline"} for m1 and {"p1":"ok","p2":"timeout"} for m2',
    ]);
  });

  test("an outcome that changes; only a late result may replace a timeout", () => {
    const shown = call(1_600, "show", 200, { job: "job-1", outcomes: { p1: "timeout", p2: "failed" } });
    expect(findIn({ history: [shown] })).toEqual([
      "one true outcome: job-1 was failed on p2, and is offline now",
    ]);
  });

  test("an acknowledged job that is gone", () => {
    expect(findIn({ final: { jobs: { m1: { "job-1": job }, m2: { "job-1": null } } } })).toEqual([
      "nothing lost: job-1 was answered, and m2 does not know it",
    ]);
  });

  test("an acknowledged rollout that is gone", () => {
    expect(findIn({ final: { rollouts: { m1: ["rol-1"], m2: [] } } })).toEqual([
      "nothing lost: rol-1 was answered, and m2 does not know it",
    ]);
  });

  test("an acknowledged record or decision that is gone", () => {
    expect(findIn({ final: { enrollments: bothList() } })).toContain(
      "nothing lost: enr-1: enroll was answered, and it is unknown for m1",
    );
    expect(findIn({ final: { enrollments: bothList({ ...known, state: "active" }) } })).toEqual([
      "nothing lost: enr-1: revoke was answered, and it is active for m1",
      "nothing lost: enr-1: revoke was answered, and it is active for m2",
    ]);
  });

  test("replicas that differ, and a replica too few", () => {
    const [first, second] = good.final.replicas;
    const replicas = [first, { ...second, messages: 1 }] as FinalState["replicas"];
    expect(findIn({ final: { replicas } })).toEqual([
      "replicas equal: KV_jobs is 2/90/1-2 on n1, 1/90/1-2 on n2",
    ]);
    expect(findIn({ final: { replicas: replicas.slice(0, 1) } })).toEqual([
      "replicas equal: KV_jobs is stored by n1 only",
    ]);
  });

  test("replicas that differ since a fault count for it, and those on their way do not", () => {
    const [first, second] = good.final.replicas;
    const replicas = [first, { ...second, messages: 1 }] as FinalState["replicas"];
    const final = { ...good.final, replicas, differing: { KV_jobs: 1_234 } };
    expect(checkAll(good.history, final)).toMatchObject([{ invariant: "replicas equal", at: 1_234 }]);
    const ahead = replicas.map((each) => ({ ...each, last: each.last + 5 }));
    expect([...stuckStreams(replicas, replicas)]).toEqual(["KV_jobs"]);
    expect([...stuckStreams(good.final.replicas, replicas)]).toEqual([]);
    const late = [{ ...first, last: 9 }, second] as FinalState["replicas"];
    expect([...stuckStreams(late, late)]).toEqual(["KV_jobs"]);
    expect([...stuckStreams(late, ahead.slice(1))]).toEqual([]);
    expect([...stuckStreams(late, [...late.slice(0, 1), { ...second, last: 9 }] as typeof late)]).toEqual([]);
  });

  test("a master that is ready while its writes fail", () => {
    const failing = [0, 5, 10, 15, 20].map((s) => call(10_000 + s * 1000, "dispatch", 500));
    const samples = [0, 4, 8, 12, 14, 16, 18].map((s) => ready(10_000 + s * 1000, 200));
    expect(findIn({ history: [...failing, ...samples] })).toEqual([
      "readiness true: m1 said that it was ready for 28 s in which 6 writes failed",
    ]);
    expect(findIn({ history: [...failing, ...samples, ready(29_000, 503)] })).toEqual([]);
  });

  test("a write that works ends a stretch, also if those asked for before it fail after it", () => {
    const long = (s: number) => ({ ...call(10_000 + s * 1000, "dispatch", 500), ended: 35_000 });
    const failing = [10, 11, 12, 13].map(long);
    const samples = [0, 14, 15, 16, 17, 18, 19, 24].map((s) => ready(10_000 + s * 1000, 200));
    expect(findIn({ history: [...failing, ...samples] })).toEqual([
      "readiness true: m1 said that it was ready for 33 s in which 5 writes failed",
    ]);
    const worked = call(26_000, "dispatch", 202);
    expect(findIn({ history: [...failing, ...samples, worked] })).toEqual([]);
  });

  test("a master that is down while its writes work", () => {
    const working = [1, 9, 19].map((s) => call(10_000 + s * 1000, "dispatch", 202));
    const samples = [0, 5, 10, 15, 20].map((s) => ready(10_000 + s * 1000, 503));
    expect(findIn({ history: [...working, ...samples] })).toEqual([
      "readiness true: m1 said that it was down for 20 s in which 3 writes worked",
    ]);
    expect(findIn({ history: [...working, ...samples.slice(0, 3), ready(23_000, 200)] })).toEqual([]);
    // What failed before does not excuse it.
    const failed = [call(8_000, "dispatch", 500), call(9_000, "dispatch", 500)];
    const longer = [-2, ...[0, 5, 10, 15, 20]].map((s) => ready(10_000 + s * 1000, 503));
    expect(findIn({ history: [...failed, ...working, ...longer] })).toEqual([
      "readiness true: m1 said that it was down for 21 s in which 3 writes worked",
    ]);
  });
});

test("every invariant has a planted violation above", async () => {
  const text = await Bun.file(import.meta.path).text();
  for (const name of Object.keys(invariants)) expect(text).toContain(`${name}: `);
});
