import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBus } from "../../harness/bus.ts";
import { startMasterBinary, startPeelBinary, svc } from "../../harness/fleet.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { table } from "../table.ts";
import { emptyTree, fileTree, mixedTree, type Tree } from "./trees.ts";

// What states cost without a master: processor seconds of whole processes, user and system together, from
// their start to their end. Floors run in turns with it. It runs as it is: as root it also looks at users,
// groups and packages, of which it changes none.

const flags = readFlags({
  files: ["1000", "10"],
  rounds: ["11", "1"],
  /** Below it everything is made: its file system is most of what making files costs. */
  dir: tmpdir(),
});
const files = flags.count("files");
const rounds = flags.count("rounds");
const dist = join(import.meta.dir, "../../../dist");
const floorProgram = [process.execPath, join(import.meta.dir, "floor.ts")];

process.env.TMPDIR = flags.text("dir");
using scratch = temporaryDirectory("bench-states");
const empty = emptyTree(scratch.path);
const many = fileTree(scratch.path, files);
const mixed = mixedTree(scratch.path, installedPackages());

/** Processor seconds of one process and all it waited for. */
async function cost(argv: readonly string[]): Promise<number> {
  const child = Bun.spawn([...argv], {
    stdout: "ignore",
    stderr: "pipe",
    env: { ...process.env, SVC_DATA_DIR: scratch.path },
  });
  const [code, complaint] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  if (code !== 0) throw new Error(`${argv.slice(0, 4).join(" ")} exited with ${code}:\n${complaint}`);
  return Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
}

const apply = ({ states }: Tree) => [
  ...[join(dist, "svc-peel"), "call", "--local", "--states", states, "state.highstate", "--output", "json"],
];
const floor = (mode: "look" | "make") => [
  ...[...floorProgram, mode, many.out, String(files), join(many.states, "web")],
];

function clear({ out }: Tree): void {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
}

interface Line {
  name: string;
  argv: readonly string[];
  /** Runs before each round, outside of what is measured. */
  before?: () => void;
}

const fresh = () => clear(many);
const started: readonly Line[] = [
  { name: "svc-peel call, one state", argv: apply(empty) },
  { name: "  floor: an empty program", argv: [...floorProgram, "look", many.out, "0"] },
];
const unchanged: readonly Line[] = [
  { name: `svc-peel call, ${files} files, no change`, argv: apply(many) },
  { name: "  floor: lstat, read, sha256", argv: floor("look") },
];
const created: readonly Line[] = [
  { name: `svc-peel call, ${files} files, created`, argv: apply(many), before: fresh },
  { name: "  floor: read, write, rename", argv: floor("make"), before: fresh },
];
const mixture: readonly Line[] = [
  { name: `svc-peel call, ${mixed.count} mixed states, no change`, argv: apply(mixed) },
];

async function measure(lines: readonly Line[]): Promise<string[][]> {
  const costs = lines.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { argv, before }] of lines.entries()) {
      before?.();
      costs[at]?.push(await cost(argv));
    }
  }
  return lines.map(({ name }, at) => {
    const sorted = (costs[at] ?? []).sort((one, other) => one - other);
    return [name, ...[sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)].map(seconds)];
  });
}

await cost(apply(many));
await cost(apply(mixed));
const rows = [
  ...(await measure(started)),
  ...(await measure(unchanged)),
  ...(await measure(mixture)),
  ...(await measure(created)),
];
process.stdout.write(
  `States, processor seconds of whole processes, ${rounds} rounds in turns, in ${flags.text("dir")}\n\n`,
);
process.stdout.write(`${table(["", "median", "least", "most"], rows)}\n`);
await insidePeel();

/** The same files applied by a job, in a peel that runs already: its time, and its processor time. */
async function insidePeel(): Promise<void> {
  await using bus = await startBus();
  await using master = await startMasterBinary(bus, ["--states-dir", many.states]);
  await using peel = startPeelBinary(bus, master.url, "bench-1");
  await peel.program.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", id);
  await peel.program.waitFor("state files fetched");
  await peel.program.waitFor("settings in force");
  const costs: { wall: number; cpu: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const before = cpuSecondsOf(peel.program.pid);
    const ran = await svc(bus, "run", "bench-1", "state.highstate", "--output", "json");
    const [returned] = Object.values(JSON.parse(ran.stdout).returns) as {
      duration_ms: number;
      error?: string;
    }[];
    if (returned === undefined || returned.error !== undefined) throw new Error(ran.stdout + ran.stderr);
    costs.push({ wall: returned.duration_ms / 1000, cpu: cpuSecondsOf(peel.program.pid) - before });
  }
  const [first, ...warm] = costs;
  const median = (of: "wall" | "cpu") =>
    warm.map((each) => each[of]).sort((one, other) => one - other)[Math.floor(warm.length / 2)];
  process.stdout.write(`\nIn a running peel, ${files} files, no change (${rounds} jobs after the first)\n\n`);
  process.stdout.write(
    `${table(
      ["", "seconds", "processor s"],
      [
        ["the first job", seconds(first?.wall), seconds(first?.cpu)],
        ["the median of those after it", seconds(median("wall")), seconds(median("cpu"))],
      ],
    )}\n`,
  );
}

/** Names of packages that this host has; none where it has no dpkg. */
function installedPackages(): string[] {
  if (Bun.which("dpkg") === null) return [];
  const { stdout } = Bun.spawnSync(["dpkg", "--get-selections"]);
  return [...stdout.toString().matchAll(/^([a-z0-9.+-]+)(?::\S+)?\t+install$/gm)].map(
    ([, name = ""]) => name,
  );
}

function seconds(value = 0): string {
  return value.toFixed(3);
}
