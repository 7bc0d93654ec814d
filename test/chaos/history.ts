// What a run recorded, and what was found at its end. Times are milliseconds since the run began.

/** What was asked for; each of these is one kind of acknowledged answer. */
export type Operation =
  | "enroll"
  | "approve"
  | "reject"
  | "revoke"
  | "credentials"
  | "dispatch"
  | "rollout"
  | "show";

/** One request and its answer. */
export interface Call {
  readonly kind: "call";
  readonly at: number;
  readonly ended: number;
  readonly door: "rest" | "bus";
  /** The master that was asked; "any" over the bus, where one of them takes the request. */
  readonly master: string;
  readonly operation: Operation;
  /** The HTTP status; 0 without an answer. Over the bus, 200 for success and 0 otherwise. */
  readonly status: number;
  readonly enrollment?: string;
  readonly peel?: string;
  readonly job?: string;
  readonly rollout?: string;
  /** The line that each target writes. */
  readonly token?: string;
  /** Of a job that was shown: the outcome of each target. */
  readonly outcomes?: Readonly<Record<string, string>>;
  /** What a refusal says. */
  readonly error?: string;
}

/** What a master's `/readyz` answered; 0 without an answer. */
export interface Readiness {
  readonly kind: "ready";
  readonly at: number;
  readonly master: string;
  readonly status: number;
}

/** A fault, from its begin until what was broken runs again. */
export interface FaultSpan {
  readonly kind: "fault";
  readonly at: number;
  readonly ended: number;
  readonly fault: string;
  readonly victim: string;
  /** From its end until the `/readyz` of each master answered 200; absent when that took too long, as below. */
  readonly readyMs?: number;
  /** From its end until a master had a job done by every peel. */
  readonly firstJobMs?: number;
  /** From its end until each master had a job done by every peel. */
  readonly recoveredMs?: number;
}

export type Entry = Call | Readiness | FaultSpan;

/** A job as a master shows it at the end. */
export interface EndedJob {
  readonly targets: readonly string[];
  readonly outcomes: Readonly<Record<string, string>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly token?: string;
  /** The command ends with an error on purpose. */
  readonly failing?: boolean;
}

/** Everything that the checks compare the history with, read when nothing is broken any more. */
export interface FinalState {
  /** By master. */
  readonly enrollments: Readonly<Record<string, readonly { id: string; peel: string; state: string }[]>>;
  /** By master and jid; `null` for a job that it does not know. */
  readonly jobs: Readonly<Record<string, Readonly<Record<string, EndedJob | null>>>>;
  /** By master: ids. */
  readonly rollouts: Readonly<Record<string, readonly string[]>>;
  /** By peel: the lines that its commands wrote. */
  readonly effects: Readonly<Record<string, readonly string[]>>;
  /** Of enrollments that are revoked: their connections, and attempts to connect to each server. */
  readonly revoked: readonly { enrollment: string; server: string; connected: boolean }[];
  /** By enrollment: when a revoked peel was first seen to connect, during the run. */
  readonly seen: Readonly<Record<string, number>>;
  /** Each stream as each server stores it. */
  readonly replicas: readonly {
    stream: string;
    server: string;
    messages: number;
    bytes: number;
    first: number;
    last: number;
  }[];
  /** By stream: since which fault its replicas differ; files of earlier versions do not have it. */
  readonly differing?: Readonly<Record<string, number>>;
  /** How many servers must have each stream. */
  readonly servers: number;
}

/** A promise that was broken. */
export interface Violation {
  readonly invariant: string;
  /** When what it is about began. */
  readonly at: number;
  readonly text: string;
}

export type Check = (history: readonly Entry[], final: FinalState) => Violation[];

/** The requests of a history. */
export function callsOf(history: readonly Entry[], ...operations: readonly Operation[]): Call[] {
  return history.filter(
    (entry): entry is Call =>
      entry.kind === "call" && (operations.length === 0 || operations.includes(entry.operation)),
  );
}

/** Whether the answer acknowledges what was asked for. */
export function isAcknowledged(call: Call): boolean {
  return call.status >= 200 && call.status < 300;
}
