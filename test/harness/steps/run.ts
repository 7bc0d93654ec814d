import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../process.ts";
import { type Fault, faultEnvironment } from "./fault.ts";

export interface RunOptions {
  /** What `bundle` made. */
  program: readonly string[];
  argv: readonly string[];
  /** The directory whose steps count. */
  below: string;
  /** A directory for the list of the steps. */
  scratch: string;
  env?: Record<string, string>;
  fault?: Fault;
}

/** What a program did until it ended, with every step below a directory. */
export interface SteppedRun {
  code: number;
  stdout: string;
  stderr: string;
  steps: string[];
}

/** Runs a bundled program to its end. */
export async function runSteps({
  program,
  argv,
  below,
  scratch,
  env,
  fault,
}: RunOptions): Promise<SteppedRun> {
  const list = join(scratch, `steps-${Bun.randomUUIDv7()}`);
  writeFileSync(list, "");
  const stepping = faultEnvironment({ below, list, ...(fault === undefined ? {} : { fault }) });
  const ran = await runProgram([...program, ...argv], { env: { ...env, ...stepping } });
  return { ...ran, steps: readSteps(list) };
}

export const readSteps = (list: string): string[] => readFileSync(list, "utf8").split("\n").filter(Boolean);

/** Where a file takes its place, of each kind of file: the least that a suite must try. */
export const isDecisive = (step: string): boolean =>
  /^(?:rename|link) (?!.*(?:\.\*|rotation-\*\/|intermediate|retired|peel\.yaml))/.test(step);

/**
 * The directories in which something was put into its place, and was not made durable afterwards: the disk may
 * forget it when the power fails.
 */
export function notDurable(steps: readonly string[]): string[] {
  return steps.flatMap((step, at) => {
    const placed = /^(?:rename|link) (.*)#\d+$/.exec(step)?.[1];
    if (placed === undefined) return [];
    const directory = placed.includes("/") ? placed.slice(0, placed.lastIndexOf("/")) : "";
    const isSynced = steps.slice(at + 1).some((later) => later.startsWith(`sync ${directory}#`));
    return isSynced ? [] : [step];
  });
}
