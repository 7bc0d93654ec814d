import type { Clock } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { isMap } from "../../base/plain-map.ts";
import { cleanEnvironment, programPath } from "../../base/process/environment.ts";
import { runProcess } from "../../base/process/process.ts";
import type { SaltState } from "./compare-low.ts";

export interface SaltCallOptions {
  /** Names of states; the highstate without any. */
  mods: readonly string[];
  states?: string;
  settings?: string;
  id?: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
}

const timeoutMs = 5 * 60_000;
const outputLimit = 64 * 1024 * 1024;
const shownLines = 20;

/**
 * Runs the minion of this host without a master, and returns the states that it would run. Nothing is applied.
 *
 * @throws SvcError `unavailable` when Salt is not installed, `bad_request` with what Salt complains about
 */
export async function saltLowState(options: SaltCallOptions): Promise<SaltState[]> {
  const { mods, states, settings, id, env, clock, signal } = options;
  const path = env.PATH ?? programPath;
  if (Bun.which("salt-call", { PATH: path }) === null) {
    throw new SvcError("unavailable", "--compare-salt: salt-call is not installed on this host");
  }
  const call = mods.length === 0 ? ["state.show_lowstate"] : ["state.show_low_sls", mods.join(",")];
  const result = await runProcess({
    argv: [
      ...["salt-call", "--local", "--out=json", "--log-level=quiet"],
      ...(states === undefined ? [] : [`--file-root=${states}`]),
      ...(settings === undefined ? [] : [`--pillar-root=${settings}`]),
      ...(id === undefined ? [] : [`--id=${id}`]),
      ...call,
    ],
    env: {
      ...cleanEnvironment(undefined),
      PATH: path,
      ...(env.HOME === undefined ? {} : { HOME: env.HOME }),
    },
    cwd: "/",
    timeoutMs,
    outputLimit,
    clock,
    signal,
  });
  signal.throwIfAborted();
  if (result.stopped !== undefined) {
    throw new SvcError("unavailable", `salt-call did not exit within ${timeoutMs / 1000} s`);
  }
  if (result.stdout.omitted > 0) {
    throw new SvcError("bad_request", `salt-call wrote more than ${outputLimit / 1024 / 1024} MiB`);
  }
  return readLowState(result.stdout.text, result.stderr.text);
}

/**
 * Reads the answer of `salt-call --out=json`.
 *
 * @throws SvcError `bad_request`
 */
function readLowState(stdout: string, stderr: string): SaltState[] {
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    throw failed(`${stdout}\n${stderr}`);
  }
  const low = isMap(answer) ? answer.local : undefined;
  if (Array.isArray(low) && low.every(isMap)) return low;
  throw failed(Array.isArray(low) ? low.map(String).join("\n") : stdout);
}

function failed(text: string): SvcError {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const shown = beginningOf(lines.slice(-shownLines).join("\n"), 4_000);
  return new SvcError("bad_request", `Salt does not compile the states:\n${shown}`);
}
