import { join } from "node:path";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runCli } from "../../internal/cli/run.ts";
import type { TestBus } from "./bus.ts";

/** What a program wrote until it ended. */
export interface Ran {
  exit: number;
  stdout: string;
  stderr: string;
}

/** What a command line finds around it in a test. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  /** What a person answers at a terminal; absent where nobody is. */
  prompt: (question: string) => Promise<string>;
}

/** Runs a command line of `svc` in this process to its end. */
export function svc(argv: readonly string[], around: Partial<Surroundings> = {}): Promise<Ran> {
  return runInProcess(runCli, argv, around);
}

/** The same for another program, such as the tree of a daemon's commands. */
export async function runInProcess(
  run: typeof runCli,
  argv: readonly string[],
  around: Partial<Surroundings> = {},
): Promise<Ran> {
  const written = { stdout: "", stderr: "" };
  const capture = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const exit = await run({
    argv,
    env: {},
    hostname: "host-1",
    stdout: capture("stdout"),
    stderr: capture("stderr"),
    clock: systemClock,
    random: systemRandom,
    ...around,
  });
  return { exit, ...written };
}

/**
 * Writes the configuration of an operator of this bus.
 *
 * @param operatorFile connects and signs; without it the connection is that of admin.creds, and nothing is signed
 * @returns its path
 */
export function operatorConfig(
  bus: Pick<TestBus, "url" | "dir" | "authDir" | "caFile">,
  operatorFile?: string,
  confirmAbove?: number,
): string {
  const name = operatorFile === undefined ? "svc" : "svc-signing";
  const config = join(bus.dir, `${name}${confirmAbove === undefined ? "" : "-asking"}.yaml`);
  const above = confirmAbove === undefined ? "" : `, confirm_above: ${confirmAbove}`;
  const identity =
    operatorFile === undefined
      ? `creds_file: ${join(bus.authDir, "admin.creds")}`
      : `operator_file: ${operatorFile}`;
  writeFileAtomic(
    config,
    `master: {urls: ["${bus.url}"], ${identity}, tls_ca: ${bus.caFile}${above}}\n`,
    secretMode,
  );
  return config;
}
