import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/mod.ts";
import { type AdoptDeps, type Adopted, adopt, adoptionMark, countUnvouched, readAdoption } from "./adopt.ts";
import {
  type AdoptionDecision,
  type AdoptionView,
  decideAdoption,
  olderMasters,
  type SeenMaster,
  usualQuietMs,
} from "./decide-adoption.ts";
import type { Directory } from "./directory.ts";
import type { AdoptionMemory } from "./remember-adoption.ts";
import type { Adoption } from "./verdict.ts";

export interface FollowAdoptionDeps extends AdoptDeps {
  directory: Pick<Directory, "caughtUp" | "countByState" | "distrusted" | "enforce">;
  /** The bucket `master-heartbeat`. */
  heartbeats: Pick<Bucket, "watch">;
  /** `enroll.adopt_unvouched` */
  automatic: boolean;
  /** What readers of records go by. */
  state: { current: Adoption };
  memory: AdoptionMemory;
  /** How long no master of an earlier version must have been seen, milliseconds. */
  quietMs?: number;
}

/** The adoption as one master follows it, and does it when it may. */
export interface AdoptionProcess {
  /** Resolves once it has adopted the records, or knows that it must wait. */
  readonly ready: Promise<void>;
  /**
   * Adopts all records on behalf of an operator. When that was done before, it only counts.
   *
   * @throws SvcError `conflict` while masters of an earlier version run
   */
  adopt(log: Log): Promise<Adopted>;
  /** `enrollments` of /readyz. */
  check(): { status: "up" | "degraded"; message?: string };
  stop(): void;
}

/**
 * Follows the heartbeats of masters and the mark of the fleet. The first master that sees no master of an earlier
 * version adopts the records; all masters enforce vouchers from the mark on.
 */
export function followAdoption(deps: FollowAdoptionDeps): AdoptionProcess {
  const { directory, state, clock, log, quietMs = usualQuietMs } = deps;
  const seen = new Map<string, SeenMaster>();
  const reported = new Set<string>();
  const watchedSince = clock.monotonic();
  let hasToldWait = false;
  let timer: { cancel(): void } | undefined;
  let working: Promise<void> = Promise.resolve();
  let stopped = false;
  /** The heartbeats of all running masters have been read. */
  let hasRead = false;

  const viewOf = (allowed: boolean): AdoptionView => {
    const unvouched = directory.distrusted().UNVOUCHED;
    const counted = Object.values(directory.countByState()).some((count) => count > 0);
    const masters = [...seen.values()];
    return { masters, watchedSince, quietMs, isEmpty: !counted && unvouched === 0, unvouched, allowed };
  };
  const decide = (allowed = deps.automatic) => decideAdoption(viewOf(allowed), clock.monotonic());
  const enforce = async () => {
    if (state.current === "done") return;
    // What was adopted is known before the rest stops counting.
    await directory.caughtUp();
    state.current = "done";
    timer?.cancel();
    directory.enforce();
    log.info("the vouchers of enrollments are enforced");
    await deps.memory.note();
  };
  const lookAgain = (ms: number) => {
    timer?.cancel();
    if (!stopped) timer = clock.after(ms, look);
  };
  const act = async () => {
    if (state.current === "done" || stopped || !hasRead) return;
    const decision = decide();
    if (decision.adopt) {
      await adopt(deps);
      await enforce();
      return;
    }
    if ("lookAgainInMs" in decision) lookAgain(decision.lookAgainInMs);
    if (decision.because === "an operator must allow it" && state.current === "awaited") {
      await directory.caughtUp();
      state.current = "withheld";
      directory.enforce();
    }
    if (hasToldWait || decision.because === "older masters may run") return;
    hasToldWait = true;
    log.warn("the vouchers of enrollments are not enforced yet", { waits_for: waitedFor(decision) });
  };
  /** One at a time: it is the same work. */
  const inTurn = (run: () => Promise<void>): Promise<void> => {
    working = working.then(run).catch((cause) => {
      if (stopped) return;
      log.warn("enrollment records not adopted", { error: describeError(cause) });
      lookAgain(quietMs);
    });
    return working;
  };
  const look = () => void inTurn(act);

  const heartbeats = deps.heartbeats.watch(({ key, value }) => {
    if (value === undefined) seen.delete(key);
    else seen.set(key, { name: key, vouches: doesVouch(value), seenAt: clock.monotonic() });
    if (state.current === "done") report(key);
    // An earlier one that stopped is what was waited for.
    else if (value === undefined) look();
  });
  const report = (name: string) => {
    if (seen.get(name)?.vouches !== false || reported.has(name)) return;
    reported.add(name);
    log.error("a master of an earlier version runs: what it writes about enrollments counts for nothing", {
      master: name,
    });
  };
  const mark = deps.secrets.watch(({ value }) => {
    if (value !== undefined && state.current !== "done") void inTurn(enforce);
    if (value === undefined && state.current === "done") void inTurn(deps.memory.restore);
  }, adoptionMark);
  const ready = heartbeats.ready.then(() => {
    hasRead = true;
    return inTurn(act);
  });

  return {
    ready,
    async adopt(log) {
      await ready;
      await working;
      if ((await readAdoption(deps)) === "done") return { adopted: 0, refused: await countUnvouched(deps) };
      const decision = decide(true);
      if (!decision.adopt) {
        throw new SvcError(
          "conflict",
          `records cannot be adopted yet: ${waitedFor(decision)}; try again then`,
        );
      }
      const result = await adopt({ ...deps, log });
      await enforce();
      return result;
    },
    check() {
      const older = olderMasters({ masters: [...seen.values()], quietMs }, clock.monotonic());
      if (state.current === "done") {
        if (older.length === 0) return { status: "up" };
        const message = `masters of an earlier version run, and what they write about enrollments counts for nothing: stop or upgrade ${older.join(", ")}`;
        return { status: "degraded", message };
      }
      const decision = decide();
      const message = decision.adopt ? "records are being adopted" : waitedFor(decision);
      return state.current === "withheld"
        ? { status: "degraded", message: `records without vouchers count for nothing: ${message}` }
        : { status: "up", message: `vouchers are not enforced yet: ${message}` };
    },
    stop() {
      stopped = true;
      timer?.cancel();
      heartbeats.stop();
      mark.stop();
    },
  };
}

function waitedFor(decision: Exclude<AdoptionDecision, { adopt: true }>): string {
  switch (decision.because) {
    case "older masters run":
      return `the end of masters of an earlier version: ${decision.older.join(", ")}`;
    case "older masters may run":
      return `${Math.ceil(decision.lookAgainInMs / 1000)} s without a master of an earlier version`;
    case "an operator must allow it":
      return "svc enroll vouch --all";
  }
}

/** What cannot be read was not written by this version. */
function doesVouch(heartbeat: Uint8Array): boolean {
  try {
    const value = decode(heartbeat);
    return typeof value === "object" && value !== null && "vouches" in value && value.vouches === true;
  } catch {
    return false;
  }
}
