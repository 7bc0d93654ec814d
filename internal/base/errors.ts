import { errnoWords } from "./files/errno-words.ts";

/**
 * The closed set of error kinds, and what each one means to the clients of every interface.
 *
 * A new kind does not compile until it has a row here. HTTP statuses follow the specification's
 * section "Errors"; bus codes are those of `AdminResponse`.
 */
const table = {
  bad_request: { http: 400, bus: "bad_request", exit: 1, level: "info" },
  usage: { http: 400, bus: "bad_request", exit: 2, level: "info" },
  unauthorized: { http: 401, bus: "unauthorized", exit: 1, level: "warn" },
  forbidden: { http: 403, bus: "forbidden", exit: 1, level: "info" },
  not_found: { http: 404, bus: "not_found", exit: 1, level: "info" },
  method_not_allowed: { http: 405, bus: "bad_request", exit: 1, level: "info" },
  conflict: { http: 409, bus: "conflict", exit: 1, level: "info" },
  invalid_transition: { http: 409, bus: "invalid_transition", exit: 1, level: "info" },
  trust_mismatch: { http: 409, bus: "trust_mismatch", exit: 1, level: "warn" },
  too_large: { http: 413, bus: "bad_request", exit: 1, level: "info" },
  unsupported_media_type: { http: 415, bus: "bad_request", exit: 1, level: "info" },
  rate_limited: { http: 429, bus: "rate_limited", exit: 1, level: "warn" },
  // A cluster elects a leader within seconds, and a peel that waits may have other masters to ask.
  storage: { http: 503, bus: "unavailable", exit: 1, level: "error", retryAfterMs: 2_000 },
  unavailable: { http: 503, bus: "unavailable", exit: 1, level: "error" },
  internal: { http: 500, bus: "internal", exit: 1, level: "error" },
} as const satisfies Record<string, ErrorMeaning>;

interface ErrorMeaning {
  /** HTTP status of the REST door. */
  http: number;
  /** `AdminResponse.error.code` of the bus door. */
  bus: AdminErrorCode;
  /** Exit code of the command line: 2 for usage, 1 for everything else. */
  exit: 1 | 2;
  /** Level at which a daemon logs it. */
  level: "info" | "warn" | "error";
  /** When the same request may succeed, unless the error itself has a time; absent where nobody knows. */
  retryAfterMs?: number;
}

/** Codes of `AdminResponse.error.code` (decisions, section "Bus"). */
export type AdminErrorCode =
  | "not_found"
  | "conflict"
  | "invalid_transition"
  | "trust_mismatch"
  | "bad_request"
  | "forbidden"
  | "unauthorized"
  | "unavailable"
  | "rate_limited"
  | "internal";

export type ErrorKind = keyof typeof table;

/** An expected failure. Its message is written for a person, and is safe to show. */
export class SvcError extends Error {
  override readonly name = "SvcError";
  readonly kind: ErrorKind;
  /** When the same request may succeed, milliseconds from now; absent where nobody knows. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown; retryAfterMs?: number }) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** What an error kind means at each door. */
export function meaningOf(kind: ErrorKind): ErrorMeaning {
  return table[kind];
}

/**
 * Narrows anything thrown to a `SvcError`. An unexpected error becomes `internal` with a generic
 * message. The cause stays attached for the log and is never sent to the client.
 */
export function toSvcError(thrown: unknown): SvcError {
  if (thrown instanceof SvcError) return thrown;
  return new SvcError("internal", "internal error", { cause: thrown });
}

/** One line that describes anything thrown, for logs: message, code and the chain of causes. */
export function describeError(thrown: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = thrown, depth = 0; at !== undefined && depth < 5; depth++) {
    if (!(at instanceof Error)) {
      parts.push(String(at));
      break;
    }
    const part = partOf(at);
    if (!isSaid(at, part, parts.at(-1) ?? "")) parts.push(part);
    at = at.cause;
  }
  return parts.join(": ");
}

const codeOf = (thrown: Error) =>
  "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;

/** Whether a message ends with that of its cause, or has the words for its code. */
function isSaid(cause: Error, part: string, before: string): boolean {
  const words = errnoWords[codeOf(cause) ?? ""];
  return before.endsWith(part) || (words !== undefined && before.includes(words));
}

/** The message of an error, and its code where the message does not have it. */
function partOf(thrown: Error): string {
  const code = codeOf(thrown);
  const message = thrown.message || thrown.name;
  // Some libraries have nothing but the code to say, and the runtime begins with it.
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** What `run` returns, or `instead` when it throws. */
export function attempt<T>(run: () => T): T | undefined;
export function attempt<T, U>(run: () => T, instead: U): T | U;
export function attempt<T, U>(run: () => T, instead?: U): T | U | undefined {
  try {
    return run();
  } catch {
    return instead;
  }
}
