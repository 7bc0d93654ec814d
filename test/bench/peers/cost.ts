import { join } from "node:path";
import { runProgram } from "../../harness/process.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

/** A program that does a piece of work from its start to its end. */
export interface Run {
  /** As the table calls it. */
  name: string;
  /** Its words, made anew for each round. */
  argv: () => readonly string[];
  env?: Record<string, string>;
  /** Runs before each round, outside of what is measured. */
  before?: () => void;
}

/** What one run used, with all processes that it waited for. */
export interface Cost {
  wallMs: number;
  /** User and system time. */
  cpuMs: number;
  /** The most that one of its processes had. */
  residentMib: number;
}

export async function costOf({ argv, env = {} }: Pick<Run, "argv" | "env">): Promise<Cost> {
  const words = argv();
  const measured = ["python3", "-I", "-S", join(import.meta.dir, "measured.py"), ...words];
  const { stdout, stderr } = await runProgram(measured, { env });
  const { code, wall_ms, cpu_ms, resident_kib } = JSON.parse(stdout);
  if (code !== 0) throw new Error(`${words.join(" ")} exited with ${code}:\n${stderr}`);
  return { wallMs: wall_ms, cpuMs: cpu_ms, residentMib: resident_kib / 1024 };
}

/** Runs each of them once in each round, in turns. @returns the costs of each */
async function inTurns(runs: readonly Run[], rounds: number): Promise<Cost[][]> {
  const costs = runs.map((): Cost[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, run] of runs.entries()) {
      run.before?.();
      costs[at]?.push(await costOf(run));
    }
  }
  return costs;
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

/** A table of runs in turns; the first of them is the one that the others are compared with. */
export async function tableOfRuns(runs: readonly Run[], rounds: number): Promise<string> {
  const costs = await inTurns(runs, rounds);
  const own = median((costs[0] ?? []).map(({ cpuMs }) => cpuMs));
  const heads = ["", "ms", "least", "processor ms", "least", "of svc", "MiB"];
  const rows = runs.map(({ name }, at) => {
    const each = costs[at] ?? [];
    const walls = each.map(({ wallMs }) => wallMs);
    const cpus = each.map(({ cpuMs }) => cpuMs);
    const times = [walls, cpus].flatMap((list) => [median(list), Math.min(...list)]).map(milliseconds);
    return [
      name,
      ...times,
      at === 0 ? "" : ratio(median(cpus) / own),
      mebibytes(median(each.map(({ residentMib }) => residentMib))),
    ];
  });
  return table(heads, rows);
}
