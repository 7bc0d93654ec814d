import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mapBounded } from "../../internal/base/map-bounded.ts";
import type { Fault } from "../harness/steps/fault.ts";
import { notDurable, runSteps, type SteppedRun } from "../harness/steps/run.ts";
import { type Ran, svc } from "../harness/svc.ts";

// Commands that change the keys of a fleet, ended at each of their steps on the disk: killed, or on a disk that is
// full from there on. Then the files are read as a master reads them, and the command runs again.

export interface Site {
  /** Runs svc from its bundle. */
  program: readonly string[];
  /** An empty directory. */
  scratch: string;
}

/** A command, and what it works on. */
export interface Killed {
  name: string;
  /** Makes what the command finds. It is copied for each run. */
  prepare(dir: string): Promise<void>;
  argv(dir: string): string[];
  env?: Record<string, string>;
  /** Fails when a master could not use the files, at any moment. */
  master(dir: string): unknown;
  /** The next run; that of the same command when absent. It must succeed unless `again` says what it writes. */
  again?: (ran: Ran, dir: string) => void;
  /** A temporary file that may stay: it holds no secret. */
  leaves?: RegExp;
  /** Fails when the command is not complete. */
  done(dir: string): unknown;
}

/** Runs a command once for its steps, and then once for each that `picks` names. @returns what was wrong */
export async function runKilled(
  { program, scratch }: Site,
  command: Killed,
  how: Fault["how"],
  picks: (step: string) => boolean = () => true,
): Promise<{ steps: number; wrong: string[] }> {
  const at = (name: string) => join(scratch, `${command.name} ${how} ${name}`.replaceAll(/[^\w.-]/g, "-"));
  const template = at("template");
  mkdirSync(template, { recursive: true });
  await command.prepare(template);
  const wrong: string[] = [];
  const run = (dir: string, fault?: Fault): Promise<SteppedRun> =>
    runSteps({
      ...{ program, argv: command.argv(dir), below: dir, scratch, env: command.env ?? {} },
      ...(fault === undefined ? {} : { fault }),
    });
  const attempt = async (where: string, check: () => unknown) => {
    try {
      await check();
    } catch (thrown) {
      wrong.push(`${command.name}, ${where}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  };

  const whole = at("whole");
  cpSync(template, whole, { recursive: true });
  const { code, stderr, steps } = await run(whole);
  await attempt("undisturbed", async () => {
    if (code !== 0) throw new Error(stderr);
    const forgotten = notDurable(steps);
    if (forgotten.length > 0) throw new Error(`not durable: ${forgotten.join(", ")}`);
    await command.done(whole);
  });

  const picked = steps.filter(picks);
  await mapBounded(picked, { atOnce: 2 }, async (step) => {
    const dir = at(`${steps.indexOf(step)}`);
    cpSync(template, dir, { recursive: true });
    const ended = await run(dir, { step, how });
    const where = `${how} at ${step}`;
    await attempt(where, () => {
      if (how === "kill" && ended.code !== 137)
        throw new Error(`it was not killed: ${ended.code} ${ended.stderr}`);
      // Some steps need no room.
      if (how === "full" && ended.code !== 0) assertFullDisk(ended, dir);
    });
    await attempt(`${where}, as a master reads it`, () => command.master(dir));
    await attempt(`${where}, run again`, async () => {
      const again = await svc(command.argv(dir), { env: { ...process.env, ...command.env } });
      if (command.again !== undefined) command.again(again, dir);
      else if (again.exit !== 0) throw new Error(again.stderr);
      await command.done(dir);
      const left = leftovers(dir).filter((name) => command.leaves?.test(name) !== true);
      if (left.length > 0) throw new Error(`it left ${left.join(", ")}`);
    });
    rmSync(dir, { recursive: true, force: true });
  });
  return { steps: picked.length, wrong };
}

/** One line that names the file and the reason, and what failed is not half there. */
function assertFullDisk({ code, stderr }: SteppedRun, dir: string): void {
  const line = stderr.trim().split("\n").at(-1) ?? "";
  if (
    code !== 1 ||
    !line.startsWith("svc: ") ||
    !line.includes(dir) ||
    !line.includes("no space left on the device")
  )
    throw new Error(`exit ${code}: ${stderr}`);
}

/** Temporary files: some of them hold secrets. */
export function leftovers(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?:^|\/)\.(?:.*\.[0-9a-f]{12}|rotation-.*)$/.test(name),
  );
}
