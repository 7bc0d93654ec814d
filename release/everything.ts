import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../internal/base/clock.ts";
import { type EveryTarget, everyTarget } from "./every-target.ts";

// make everything: runs the targets of the Makefile one after the other and prints a line for each. The output of
// each is in .tools/everything/. ONLY=demo,test runs some of them.

const root = join(import.meta.dir, "..");
const logs = join(root, ".tools", "everything");
mkdirSync(logs, { recursive: true });

const only = process.env.ONLY?.split(",");
const unknown = only?.filter((name) => !everyTarget.some(({ target }) => target === name)) ?? [];
if (unknown.length > 0) throw new Error(`the Makefile has no target ${unknown.join(", ")}`);

let child: Bun.Subprocess | undefined;
let isStopped = false;
// An interrupt from a terminal reaches the target itself; a signal to this process alone would leave it running.
process.on("SIGTERM", () => {
  isStopped = true;
  child?.kill();
});

const say = (target: string, word: string, rest: string) =>
  process.stdout.write(`${target.padEnd(15)}${word.padEnd(8)}${rest}\n`);
let [passed, failed] = [0, 0];
const before = changedFiles();
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
  const { ONLY: _, MAKEFLAGS: __, MAKELEVEL: ___, ...env } = process.env;
  const output = Bun.file(log);
  child = Bun.spawn(["make", target, ...short], {
    cwd: root,
    env,
    stdin: "ignore",
    stdout: output,
    stderr: output,
  });
  const code = await child.exited;
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
