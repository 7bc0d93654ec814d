import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../bench/table.ts";
import { binaries } from "../harness/fleet.ts";
import { openPrivateRoot } from "../harness/private-root.ts";
import { type Low, type Machine, makeMachine } from "./machine.ts";
import { compareProbe, type Probe } from "./probes.ts";
import { treesIn, unpackTrees } from "./trees.ts";

// Compares what the compiled programs make of formulas with what Salt made of them. DIRECTORY has the trees
// (trees.tar.xz, or unpacked below t/), salt.json with Salt's states, and probes.json with templates and Salt's
// answers. Templates and conditions of formulas run commands, so all of it happens in a private root.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Shows every difference of the formula of this name. */
    only: { type: "string" },
  },
});
const [directory = "../shared/formulas"] = positionals;
const expected: Record<string, Low[]> = JSON.parse(readFileSync(join(directory, "salt.json"), "utf8"));
const probes: Probe[] = JSON.parse(readFileSync(join(directory, "probes.json"), "utf8"));
await using root = await openPrivateRoot();
await unpackTrees(root, directory, values.only);
const machine = await makeMachine(root);
const { stdout: version } = await root.run([binaries.peel, "--version"]);
process.stdout.write(`${binaries.peel}, ${version.trim()}, in a private root\n\n`);
const areEqual = [await compareFormulas(machine), await compareProbes(machine)];
process.exitCode = areEqual.every(Boolean) ? 0 : 1;

interface Compared {
  problems: readonly string[];
  differences: readonly string[];
  failures: readonly string[];
}

async function compareFormula(name: string, machine: Machine): Promise<Compared> {
  const { states, problems } = await machine.compile(name);
  if (problems.length > 0) return { problems, differences: [], failures: [] };
  const failures = await machine.failures(name);
  const salts = expected[name];
  const differences =
    salts === undefined ? ["Salt's states are not in salt.json"] : differencesOf(states, salts);
  return { problems, differences, failures };
}

/** Prints a row for each formula. @returns whether the states of all are Salt's */
async function compareFormulas(machine: Machine): Promise<boolean> {
  const names = await treesIn(root);
  const rows: string[][] = [];
  const yes = [0, 0, 0];
  for (const name of names) {
    const { problems, differences, failures } = await compareFormula(name, machine);
    const compiles = problems.length === 0;
    const isEach = [compiles, compiles && differences.length === 0, compiles && failures.length === 0];
    for (const [at, is] of isEach.entries()) yes[at] = (yes[at] ?? 0) + Number(is);
    const all = [...problems, ...differences, ...failures];
    const [shown = ""] = all;
    const more = all.length > 1 ? ` (and ${all.length - 1} more)` : "";
    const said = `${shown.replace(/\s+/g, " ").slice(0, 150)}${more}`;
    rows.push([name, ...isEach.map((is) => (is ? "yes" : "no")), said]);
    if (values.only !== undefined) process.stdout.write(`${all.join("\n")}\n`);
  }
  const heads = ["formula", "compiles", "same states", "test=true", "problem or difference"];
  process.stdout.write(`${table(heads, rows, heads.length)}\n\n`);
  const [compiled, equal, finished] = yes;
  process.stdout.write(
    `${compiled} of ${names.length} compile; ${equal} give the states of Salt; ${finished} finish test=true\n\n`,
  );
  return equal === names.length;
}

/** Prints every probe that differs. @returns whether each is equal, or meant to differ */
async function compareProbes(machine: Machine): Promise<boolean> {
  const found = [];
  for (const probe of probes) found.push(await compareProbe(probe, machine));
  const different = found.filter(({ difference }) => difference !== undefined);
  const faults = different.filter(({ reason }) => reason === undefined);
  process.stdout.write(`${found.length - different.length} of ${found.length} probes are equal\n`);
  for (const { name, difference, reason } of different) {
    process.stdout.write(
      `  ${name}: ${difference}\n    ${reason ?? "not meant: see test/formulas/known.ts"}\n`,
    );
  }
  const settled = found.filter(({ difference, reason }) => difference === undefined && reason !== undefined);
  for (const { name } of settled) {
    process.stdout.write(`  ${name} is equal: remove it from test/formulas/known.ts\n`);
  }
  return faults.length === 0;
}

/** What one list has and the other has not, as sorted lists: Salt's data has no order. */
function differencesOf(ours: readonly Low[], salts: readonly Low[]): string[] {
  const key = (low: Low) => JSON.stringify(low);
  const count = (lows: readonly Low[]) => {
    const counted = new Map<string, number>();
    for (const low of lows) counted.set(key(low), (counted.get(key(low)) ?? 0) + 1);
    return counted;
  };
  const [here, there] = [count(ours), count(salts)];
  const only = (one: Map<string, number>, other: Map<string, number>, sign: string) =>
    [...one].flatMap(([each, times]) => (times > (other.get(each) ?? 0) ? [`${sign} ${each}`] : []));
  return [...only(here, there, "+"), ...only(there, here, "-")];
}
