import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { type Action, decide, jobOfStep, type Observation } from "./decide.ts";
import { cutWaves } from "./plan.ts";
import {
  decodeRollout,
  encodeRollout,
  isLive,
  peelsOfWave,
  type Rollout,
  type WaveCounts,
} from "./record.ts";

// Long histories, of which a busy machine runs only a few per second.
setDefaultTimeout(60_000);

// A world with one stored rollout, a table of jobs, and drivers that die, freeze and resume with old
// knowledge. The rules of rollouts hold for any sequence of events.

interface World {
  stored: Rollout;
  revision: number;
  now: number;
  /** By jid: the peels of the job, or a tombstone. */
  jobs: Map<string, string[] | "forbidden">;
  ended: Map<string, WaveCounts>;
  /** The waves in the order in which their jobs were created. */
  begun: { jid: string; wave: number; failures: number; status: string; abort: boolean; at: number }[];
}

/** A driver at some point in time: it knows a revision, and what it saw and intended. */
interface Driver {
  token: number;
  observation: Observation | undefined;
  fresh: string | undefined;
  /** What it has decided but not done yet, and what it knew then. */
  about?: { action: Action; from: Rollout; revision: number } | undefined;
}

const targets = Array.from({ length: 12 }, (_, i) => `peel-${String(i).padStart(2, "0")}`);

function newWorld(options: {
  canary: number;
  wave: number;
  maxFailures: number;
  check: boolean;
  waitMs: number;
}) {
  const stored: Rollout = {
    id: "rol-000000000000000000000000000",
    function: "test.ping",
    args: {},
    metadata: {},
    plan: {
      bounds: cutWaves(targets.length, { peels: options.canary }, [{ peels: options.wave }]),
      waveWaitMs: options.waitMs,
      maxFailures: options.maxFailures,
      ...(options.check ? { check: { function: "test.ping", args: {}, timeoutMs: 1_000 } } : {}),
      timeoutMs: 1_000,
      deadline: 100_000,
    },
    status: "running",
    step: "ready",
    waves: [],
    failures: 0,
    forbidden: [],
    driver: "d",
    token: 1,
    heartbeatAt: 0,
    createdAt: 0,
    createdBy: "test",
  };
  const world: World = { stored, revision: 1, now: 1, jobs: new Map(), ended: new Map(), begun: [] };
  return world;
}

let lastJid = 0;
const newIntent = (now: number) => () => ({ jid: `job-${++lastJid}`, createdAt: now });

/** The driver reads and decides; it acts on the decision in the next call. */
function inspect(world: World, driver: Driver): void {
  const { stored, revision, now } = world;
  if (stored.token !== driver.token || !isLive(stored)) return;
  driver.about = { action: decide(stored, driver.observation, now, newIntent(now)), from: stored, revision };
}

/** The driver acts on its decision, at any later time. */
function act(world: World, driver: Driver): void {
  const { about } = driver;
  driver.about = undefined;
  if (about === undefined) return;
  const { action, from } = about;
  if (action.do === "write") {
    if (world.revision !== about.revision) return;
    world.stored = decodeRollout(encodeRollout(action.rollout));
    world.revision++;
    driver.observation = undefined;
    const { step } = action.rollout;
    driver.fresh = step === "dispatching" || step === "asking" ? jobOfStep(action.rollout)?.jid : undefined;
  } else if (action.do === "make") {
    const { jid } = action.intent;
    const isFresh = driver.fresh === jid && !action.unwanted;
    driver.fresh = undefined;
    if (!world.jobs.has(jid)) {
      const peels =
        action.part === "wave" ? peelsOfWave(from.plan, targets, from.waves.length - 1) : ["asked"];
      world.jobs.set(jid, isFresh ? peels : "forbidden");
      if (isFresh && action.part === "wave") {
        const { failures, status, abort } = from;
        world.begun.push({
          jid,
          wave: from.waves.length,
          failures,
          status,
          abort: abort !== undefined,
          at: from.waves.at(-1)?.begunAt ?? 0,
        });
      }
    }
    const made = world.jobs.get(jid);
    driver.observation =
      made === "forbidden"
        ? { jid, observed: "forbidden" }
        : { jid, observed: "made", peels: made?.length ?? 0 };
  } else if (action.do === "follow") {
    const counts = world.ended.get(action.jid);
    if (counts !== undefined) driver.observation = { jid: action.jid, observed: "ended", counts };
  }
}

const outcome = fc.constantFrom("ok", "ok", "ok", "failed", "offline", "timeout");
const move = fc.oneof(
  { weight: 300, arbitrary: fc.record({ do: fc.constant("turn" as const), driver: fc.nat(2) }) },
  {
    weight: 120,
    arbitrary: fc.record({ do: fc.constantFrom("look" as const, "act" as const), driver: fc.nat(2) }),
  },
  {
    weight: 120,
    arbitrary: fc.record({ do: fc.constant("end" as const), outcomes: fc.array(outcome, { maxLength: 6 }) }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant("take" as const), driver: fc.nat(2) }) },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constantFrom("pause" as const, "resume" as const, "crash" as const) }),
  },
  { weight: 20, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat(15_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("abort" as const) }) },
);
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

const history = fc.array(move, { maxLength: 400, size: "max" });

const plans = fc.record({
  canary: fc.nat(3),
  wave: fc.integer({ min: 1, max: 6 }),
  maxFailures: fc.nat(4),
  check: fc.boolean(),
  waitMs: fc.constantFrom(0, 5_000),
});

function write(world: World, change: Partial<Rollout>): void {
  if (!isLive(world.stored)) return;
  world.stored = { ...world.stored, ...change };
  world.revision++;
}

function play(world: World, moves: readonly Move[], after: (world: World) => void): void {
  const drivers: Driver[] = [1, 0, 0].map((token) => ({ token, observation: undefined, fresh: undefined }));
  for (const one of moves) {
    switch (one.do) {
      case "turn":
      case "look":
      case "act": {
        const driver = drivers[one.driver] as Driver;
        if (one.do !== "act") inspect(world, driver);
        if (one.do !== "look") act(world, driver);
        break;
      }
      case "take": {
        const token = world.stored.token + 1;
        write(world, { token });
        // The previous driver keeps its pending step.
        if (isLive(world.stored)) {
          const { about } = drivers[one.driver] as Driver;
          drivers[one.driver] = { token, observation: undefined, fresh: undefined, about };
        }
        break;
      }
      case "crash":
        for (const driver of drivers) {
          driver.fresh = undefined;
          driver.observation = undefined;
          driver.about = undefined;
        }
        break;
      case "end": {
        const job = jobOfStep(world.stored);
        const peels = job === undefined ? undefined : world.jobs.get(job.jid);
        if (job === undefined || peels === undefined || peels === "forbidden" || world.ended.has(job.jid))
          break;
        const counts: WaveCounts = {};
        for (const [i] of peels.entries()) {
          const how = one.outcomes[i] ?? "ok";
          counts[how] = (counts[how] ?? 0) + 1;
        }
        world.ended.set(job.jid, counts);
        break;
      }
      case "pass":
        world.now += one.ms;
        break;
      case "pause":
        if (world.stored.status === "running" && world.stored.abort === undefined) {
          write(world, { status: "paused", pause: { by: "test", at: world.now } });
        }
        break;
      case "resume":
        if (world.stored.status === "paused") write(world, { status: "running" });
        break;
      case "abort":
        write(world, { abort: { by: "test", at: world.now } });
        break;
    }
    after(world);
  }
}

test("whatever driver dies, freezes or resumes late: no peel is in two jobs, and no wave is skipped", () => {
  fc.assert(
    fc.property(plans, history, (plan, moves) => {
      const world = newWorld(plan);
      play(world, moves, () => {});
      const made = world.begun.flatMap(({ jid }) => {
        const peels = world.jobs.get(jid);
        return peels === "forbidden" || peels === undefined ? [] : peels;
      });
      expect(new Set(made).size).toBe(made.length);
      expect(made).toEqual(targets.slice(0, made.length));
      expect(world.begun.map(({ wave }) => wave)).toEqual(world.begun.map((_, i) => i + 1));
    }),
    { numRuns: 500 },
  );
});

test("no wave starts while the gate is closed, after an abort, during a pause, or after the deadline", () => {
  fc.assert(
    fc.property(plans, history, (plan, moves) => {
      const world = newWorld(plan);
      let before = world.stored;
      play(world, moves, ({ stored }) => {
        if (stored.waves.length > before.waves.length) {
          const failed = before.waves
            .flatMap(({ job, check }) => [job.counts ?? {}, check?.counts ?? {}])
            .flatMap((counts) => Object.entries(counts))
            .reduce((sum, [how, n]) => (how === "ok" ? sum : sum + n), 0);
          expect(failed).toBeLessThanOrEqual(plan.maxFailures);
          expect(before.failures).toBe(failed);
          expect([before.status, before.abort]).toEqual(["running", undefined]);
          const begunAt = stored.waves.at(-1)?.begunAt ?? 0;
          expect(begunAt).toBeLessThan(stored.plan.deadline);
          const endedAt = before.waves.at(-1)?.endedAt;
          if (endedAt !== undefined) expect(begunAt).toBeGreaterThanOrEqual(endedAt + plan.waitMs);
        }
        before = stored;
      });
    }),
    { numRuns: 500 },
  );
});

test("an ended rollout stays unchanged, and is completed only when every wave succeeded", () => {
  fc.assert(
    fc.property(plans, history, (plan, moves) => {
      const world = newWorld(plan);
      let ended: Rollout | undefined;
      play(world, moves, ({ stored }) => {
        if (ended !== undefined) expect(stored).toEqual(ended);
        if (!isLive(stored)) ended = stored;
      });
      if (ended?.status !== "completed") return;
      expect(ended.waves).toHaveLength(ended.plan.bounds.length);
      expect(ended.failures).toBeLessThanOrEqual(plan.maxFailures);
      for (const { job, check } of ended.waves) {
        expect(job.counts).toBeDefined();
        const isChecked = plan.check && (job.counts?.ok ?? 0) > 0;
        expect(check?.counts !== undefined).toBe(isChecked);
      }
    }),
    { numRuns: 500 },
  );
});

test("a driver without interference brings every rollout to its end", () => {
  fc.assert(
    fc.property(plans, history, (plan, moves) => {
      const world = newWorld(plan);
      play(world, moves, () => {});
      const token = world.stored.token + 1;
      write(world, { token, ...(world.stored.status === "paused" ? { status: "running" } : {}) });
      const driver: Driver = { token, observation: undefined, fresh: undefined };
      for (let turn = 0; turn < 400 && isLive(world.stored); turn++) {
        inspect(world, driver);
        act(world, driver);
        const job = jobOfStep(world.stored);
        const made = job === undefined ? undefined : world.jobs.get(job.jid);
        if (job !== undefined && made !== undefined && made !== "forbidden" && !world.ended.has(job.jid)) {
          world.ended.set(job.jid, { ok: made.length });
        }
        world.now += 1_000;
      }
      expect(isLive(world.stored)).toBe(false);
    }),
    { numRuns: 500 },
  );
});
