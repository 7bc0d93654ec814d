import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { isCredentialsRefused } from "../../bus/connection/mod.ts";
import { credentialsExpiry, DamagedFile, damagedEvent } from "../identity/mod.ts";
import { createRest } from "./rest.ts";

/** After this time, servers that refuse the credentials are asked ever more seldom, and in the end each five minutes. */
const patientMs = 60_000;
const patientRefusals = 5;
const maxRestMs = 5 * 60_000;

/**
 * What keeps a peel off the bus and does not end by itself. It is logged once, however often it is met, and the bus is
 * not asked all the time: each attempt is an error in its log.
 */
export interface Obstacle {
  /** For /readyz; `undefined` when nothing of that kind is known. */
  readonly reason: string | undefined;
  /**
   * Runs an attempt to connect.
   *
   * @throws MetObstacle when it failed for such a reason; otherwise what the attempt throws
   */
  attempt<T>(connect: () => Promise<T>): Promise<T>;
  /** A server refuses the credentials that it took before. @param words of the server */
  refused(words: string): void;
  /** The peel is connected. */
  clear(): void;
  /** What keeps the peel off the bus, as far as its credentials are concerned. */
  readonly blocked: Blocked;
  /** Calls `run` after each failed attempt and each refusal. Returns a function that stops this. */
  onBlocked(run: () => void): () => void;
  /** Another reason became known. It is logged once. */
  report(reason: string, next: string, fields?: Record<string, string>): void;
  /**
   * Masters said that only a person ends this: the bus is asked again after this time, which may be without end, or
   * when other credentials are on the disk.
   */
  halt(ms: number): void;
  /** Masters say that no longer, or did not answer. */
  endHalt(): void;
  readonly isHalted: boolean;
  /** Calls `run` when the bus is not to be asked for a while. Returns a function that stops this. */
  onRest(run: () => void): () => void;
}

/** Since the last connection. */
export interface Blocked {
  /** The file of the credentials is missing or damaged. */
  readonly unusable: boolean;
  /** How often servers refused the credentials, one after the other. */
  readonly refusals: number;
  /** When the first of these refusals came, on the monotonic clock. */
  readonly since: number | undefined;
}

/** An attempt to connect failed for a reason that is already in the log. */
export class MetObstacle extends SvcError {}

export function createObstacle(options: {
  /** Path of the `.creds` file. */
  credentials: string;
  /** How the operator makes this peel enroll again. */
  again: string;
  clock: Clock;
  log: Log;
}): Obstacle {
  const { credentials, again, clock, log } = options;
  let reason: string | undefined;
  const none: Blocked = { unusable: false, refusals: 0, since: undefined };
  let blocked = none;
  const listeners = new Set<() => void>();
  const rest = createRest(credentials, clock);
  const block = (next: Blocked) => {
    blocked = next;
    for (const run of listeners) run();
  };

  const report = (event: string, next: string, fields: Record<string, string> = {}) => {
    if (reason !== event) log.error(event, { ...fields, next });
    reason = event;
  };
  const refused = (words: string) => {
    const isExpired = (credentialsExpiry(credentials) ?? Number.POSITIVE_INFINITY) <= clock.now();
    const { event, next } = meaningOf(words, isExpired, again);
    // What the words do not say does not replace what is known.
    if (event !== undeclared || reason === undefined) report(event, next, { reason: words });
    const { refusals, since = clock.monotonic() } = blocked;
    const refusedForMs = clock.monotonic() - since;
    const isPatient = refusedForMs < patientMs || refusals < patientRefusals;
    if (!isPatient) rest.begin(Math.min(refusedForMs, maxRestMs));
    block({ unusable: false, refusals: refusals + 1, since });
  };
  return {
    get reason() {
      return reason;
    },
    async attempt(connect) {
      if (rest.isOn) throw new MetObstacle("unavailable", reason ?? "");
      try {
        const connected = await connect();
        reason = undefined;
        blocked = none;
        rest.end();
        return connected;
      } catch (thrown) {
        if (thrown instanceof DamagedFile) {
          const { next, ...fields } = thrown.fields;
          if (reason !== thrown.message) log.error(damagedEvent, { ...fields, next });
          reason = thrown.message;
          block({ ...blocked, unusable: true });
        } else if (isCredentialsRefused(thrown)) refused(describeError(thrown));
        else {
          block(blocked);
          throw thrown;
        }
        throw new MetObstacle("unavailable", reason ?? "", { cause: thrown });
      }
    },
    refused,
    clear() {
      reason = undefined;
      blocked = none;
      rest.end();
    },
    get blocked() {
      return blocked;
    },
    onBlocked: (run) => subscribe(listeners, run),
    report,
    halt: rest.halt,
    endHalt: rest.endHalt,
    get isHalted() {
      return rest.isHalted;
    },
    onRest: rest.onBegin,
  };
}

const undeclared =
  "the bus refuses the credentials of this peel: it is revoked or suspended, or the bus belongs to another fleet";

/** What it means that a server refuses the credentials, and what to do next. @param words of the server */
function meaningOf(words: string, isExpired: boolean, again: string): { event: string; next: string } {
  if (isExpired) {
    return {
      event: "the credentials of this peel have expired",
      next: `nothing, where the peel reaches a master: it recovers them by itself; otherwise set master_url, or run svc enroll revoke, and ${again}`,
    };
  }
  if (/revoked/i.test(words)) {
    return {
      event: "this peel is revoked or suspended",
      next: `svc enroll list --state all shows why; if it is suspended, run svc enroll resume; otherwise ${again}`,
    };
  }
  return {
    event: undeclared,
    next: `svc enroll list --state all shows which; if it is suspended, run svc enroll resume; if it is revoked, ${again}`,
  };
}
