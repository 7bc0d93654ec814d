import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../internal/base/clock.ts";
import { type EveryTarget, everyTarget } from "./every-target.ts";
import { endStarted } from "./started.ts";

// make everything: runs the targets of the Makefile one after the other and prints a line for each. The output of
// each is in .tools/everything/. ONLY=demo,test runs some of them.

const root = join(import.meta.dir, "..");
const logs = join(root, ".tools", "everything");
mkdirSync(logs, { recursive: true });

/** A target that takes longer hangs: the longest ones take a quarter of an hour on a busy machine. */
const maxMinutes = 40;
/** For what must put back what it changed. */
const patienceMs = 20_000;
// Not SVC_: the programs name variables of theirs that nothing reads.
const mark = { name: "MAKE_EVERYTHING", value: `${process.pid}` };

const only = process.env.ONLY?.split(",");
const unknown = only?.filter((name) => !everyTarget.some(({ target }) => target === name)) ?? [];
if (unknown.length > 0) throw new Error(`the Makefile has no target ${unknown.join(", ")}`);

let isStopped = false;
const end = async () => {
  for (const path of await endStarted(`${mark.name}=${mark.value}`, patienceMs))
    rmSync(path, { recursive: true, force: true });
};
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    isStopped = true;
    void end();
  });
}

const say = (target: string, word: string, rest: string) =>
  process.stdout.write(`${target.padEnd(15)}${word.padEnd(8)}${rest}\n`);
const minutesSince = (begin: number) => `${((systemClock.now() - begin) / 60_000).toFixed(1)} min`;

let [passed, failed] = [0, 0];
const beganAll = systemClock.now();
for (const entry of everyTarget) {
  const { target } = entry;
  if (isStopped) break;
  if (only !== undefined && !only.includes(target)) continue;
  const left = whyLeft(entry);
  if (left !== undefined) {
    say(target, "left", left);
    continue;
  }
  const begin = systemClock.now();
  const problem = await run(target, "short" in entry ? (entry.short ?? []) : []);
  const time = `${Math.round((systemClock.now() - begin) / 1_000)} s`;
  if (problem === undefined) passed++;
  else failed++;
  say(
    target,
    problem === undefined ? "ok" : "FAILED",
    [time, problem ?? countOf(target)].join("  ").trimEnd(),
  );
}
process.stdout.write(`all of it took ${minutesSince(beganAll)}; the output of each is in ${logs}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || passed === 0 || isStopped ? 1 : 0;

function whyLeft(entry: EveryTarget): string | undefined {
  if ("left" in entry) return entry.left;
  const { needs } = entry;
  if (needs === undefined || process.env[needs.variable] !== undefined) return undefined;
  return existsSync(join(root, needs.fallback)) ? undefined : `it needs ${needs.variable}=DIRECTORY`;
}

/** @returns what is wrong, `undefined` when nothing is */
async function run(target: string, short: readonly string[]): Promise<string | undefined> {
  const log = join(logs, `${target}.log`);
  const before = changedFiles();
  const { ONLY: _, MAKEFLAGS: __, MFLAGS: ___, MAKELEVEL: ____, ...env } = process.env;
  const output = Bun.file(log);
  const child = Bun.spawn(["make", target, ...short], {
    cwd: root,
    env: { ...env, [mark.name]: mark.value },
    stdin: "ignore",
    stdout: output,
    stderr: output,
    // An interrupt from a terminal goes to this process alone, which ends what the target started as well.
    detached: true,
  });
  let isLate = false;
  const limit = systemClock.after(maxMinutes * 60_000, () => {
    isLate = true;
    void end();
  });
  const code = await child.exited;
  limit.cancel();
  // A target that failed can leave programs behind, which slow down the next ones and hold their ports.
  await end();
  if (isStopped) return "it was stopped";
  if (isLate) return `it did not end within ${maxMinutes} minutes; see ${log}`;
  if (code !== 0) return `exit ${code}; see ${log}`;
  const changed = changedFiles().filter((file) => !before.includes(file));
  return changed.length === 0 ? undefined : `it changed ${changed.join(", ")}`;
}

function changedFiles(): string[] {
  const { stdout } = Bun.spawnSync(["git", "status", "--porcelain"], { cwd: root });
  return stdout.toString().split("\n").filter(Boolean);
}

/** What a target counted itself: its last line of this form. */
function countOf(target: string): string {
  const lines = readFileSync(join(logs, `${target}.log`), "utf8").matchAll(/^\d+ passed, \d+ failed$/gm);
  return [...lines].at(-1)?.[0] ?? "";
}
