import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";

const timeoutMs = 2_000;

/** The result of a readiness check. `degraded` needs attention, `down` takes the daemon out of service. */
export interface CheckResult {
  status: "up" | "degraded" | "down";
  message?: string;
  /** What to do about it, one line. Absent in one that is `up`. */
  next?: string;
}

export type Check = () => Promise<CheckResult> | CheckResult;

export interface Readiness {
  ready: boolean;
  checks: Record<string, CheckResult & { message: string; latency_ms: number }>;
}

/** What a check that says nothing else says: a monitor reads the same fields of every check. */
const usual: Readonly<Record<CheckResult["status"], string>> = {
  up: "ok",
  degraded: "degraded",
  down: "down",
};

/**
 * Runs all checks concurrently. A check that fails, or takes longer than 2 s, is `down`.
 *
 * @param nextSteps what to do about a check, by its name, where its result does not say it
 */
export async function runChecks(
  checks: Readonly<Record<string, Check>>,
  clock: Clock,
  nextSteps: Readonly<Record<string, string>> = {},
): Promise<Readiness> {
  const entries = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const started = clock.monotonic();
      const { status, message = "", next: own } = await within(check, clock);
      const next = status === "up" ? undefined : (own ?? nextSteps[name]);
      const said = { status, message: message === "" ? usual[status] : message, ...defined({ next }) };
      return [name, { ...said, latency_ms: Math.round(clock.monotonic() - started) }] as const;
    }),
  );
  return { ready: entries.every(([, { status }]) => status !== "down"), checks: Object.fromEntries(entries) };
}

async function within(check: Check, clock: Clock): Promise<CheckResult> {
  const done = new AbortController();
  try {
    return await Promise.race([
      Promise.resolve().then(check),
      sleep(clock, timeoutMs, done.signal).then(
        (): CheckResult => ({ status: "down", message: "timed out" }),
      ),
    ]);
  } catch (thrown) {
    return { status: "down", message: describeError(thrown) };
  } finally {
    done.abort();
  }
}
