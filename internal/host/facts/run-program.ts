import { dirname } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { runProcess } from "../../base/process/process.ts";

const limitMs = 10_000;
const maxOutputBytes = 64 * 1024;
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Runs a program that prints facts, with a minimal environment and a timeout of 10 s. On timeout, the
 * processes it started are ended too.
 *
 * @returns its output
 * @throws SvcError `bad_request` when it cannot be started, times out, fails, or prints more than 64 KiB
 */
export async function runFactProgram(
  path: string,
  options: {
    env: Readonly<Record<string, string | undefined>>;
    clock: Clock;
    signal: AbortSignal;
  },
): Promise<string> {
  const { env, clock, signal } = options;
  const result = await runProcess({
    argv: [path],
    cwd: dirname(path),
    env: {
      PATH: env.PATH || defaultPath,
      LC_ALL: "C",
      ...defined({ HOME: env.HOME }),
    },
    timeoutMs: limitMs,
    signal,
    clock,
    outputLimit: maxOutputBytes,
  });
  const { code, killedBy, stopped, stdout } = result;
  if (stopped === "timeout") throw new SvcError("bad_request", `stopped after ${limitMs / 1000} s`);
  if (stopped === "aborted") throw new SvcError("bad_request", "stopped with the peel");
  if (killedBy !== undefined) throw new SvcError("bad_request", `ended by ${killedBy}`);
  if (code !== 0) throw new SvcError("bad_request", `exited with ${code}`);
  if (stdout.omitted > 0) throw new SvcError("bad_request", "printed more than 64 KiB");
  return stdout.text;
}
