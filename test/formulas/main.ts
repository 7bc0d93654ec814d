import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../bench/table.ts";
import { openPrivateRoot } from "../harness/private-root.ts";
import { compileFormula, type Low } from "./compile.ts";
import { compareProbes, type Probe } from "./probes.ts";

// Compares what becomes of formulas here with what Salt made of them. DIRECTORY has the trees (trees.tar.xz, or
// unpacked below t/), salt.json with Salt's states, and probes.json with templates and Salt's answers.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** How templates and arguments are read: salt or strict. */
    compat: { type: "string", default: "salt" },
    /** Takes state functions that do not exist here for granted, to see what the templates make of the trees. */
    templates: { type: "boolean", default: false },
    /** Also tests what each would change, in a private root; needs root. */
    run: { type: "boolean", default: false },
    /** Runs the commands of templates on this machine; otherwise they succeed and say nothing. */
    commands: { type: "boolean", default: false },
    /** Shows every difference, of the formulas of this name if there is one. */
    only: { type: "string" },
  },
});
const [directory = "../shared/formulas"] = positionals;
const compat = values.compat === "strict" ? "strict" : "salt";
const expected: Record<string, Low[]> = JSON.parse(readFileSync(join(directory, "salt.json"), "utf8"));
const probes: Probe[] = JSON.parse(readFileSync(join(directory, "probes.json"), "utf8"));
const unpacked = unpack(directory);
try {
  process.exitCode = (await compareAll(unpacked.path)) ? 0 : 1;
} finally {
  unpacked.remove();
}

async function compareAll(trees: string): Promise<boolean> {
  const names = readdirSync(trees)
    .filter((name) => values.only === undefined || name === values.only)
    .sort();
  const functions = [
    ...new Set(Object.values(expected).flatMap((states) => states.map(([called]) => called))),
  ];
  const rows: string[][] = [];
  let [compiled, equal, finished] = [0, 0, 0];
  const tried = values.run ? await tryAll(trees, names) : undefined;
  for (const name of names) {
    const { states, problems } = await compileFormula(join(trees, name), {
      ...{ compat, commands: values.commands },
      ...(values.templates ? { functions } : {}),
    });
    const [problem] = problems;
    if (problem === undefined) compiled++;
    const differences = problem === undefined ? differencesOf(states, expected[name] ?? []) : [];
    const isEqual = problem === undefined && expected[name] !== undefined && differences.length === 0;
    if (isEqual) equal++;
    const failed = problem === undefined ? (tried?.[name] ?? []) : [];
    if (problem === undefined && tried !== undefined && failed.length === 0) finished++;
    const all = [...problems, ...differences, ...failed];
    const [shown = ""] = all;
    const rest = all.length - 1;
    rows.push([
      ...[name, problem === undefined ? "yes" : "no", isEqual ? "yes" : "no"],
      ...(tried === undefined ? [] : [problem === undefined && failed.length === 0 ? "yes" : "no"]),
      `${shown.replace(/\s+/g, " ").slice(0, 150)}${rest > 0 ? ` (and ${rest} more)` : ""}`,
    ]);
    if (values.only !== undefined) process.stdout.write(`${all.join("\n")}\n`);
  }
  const heads = [
    "formula",
    "compiles",
    "same states",
    ...(tried === undefined ? [] : ["test=true"]),
    "difference",
  ];
  process.stdout.write(`${table(heads, rows, heads.length)}\n\n`);
  const ended = tried === undefined ? "" : `; ${finished} finish test=true`;
  process.stdout.write(
    `${compiled} of ${names.length} compile; ${equal} give the states of Salt${ended}\n\n`,
  );
  const found = await compareProbes(probes, values.commands);
  const different = found.filter(({ difference }) => difference !== undefined);
  process.stdout.write(`${found.length - different.length} of ${found.length} probes are equal\n`);
  for (const { name, difference } of different) process.stdout.write(`  ${name}: ${difference}\n`);
  return equal === names.length && different.length === 0;
}

/** What fails of each formula with test=true, in a copy of this machine that is discarded. */
async function tryAll(trees: string, names: readonly string[]): Promise<Record<string, string[]>> {
  await using root = await openPrivateRoot();
  const script = join(import.meta.dir, "try.ts");
  // The root has temporary directories of its own.
  const packed = Bun.spawnSync(["tar", "-cJf", "-", "-C", trees, ...names]).stdout.toBase64();
  const inside = "/tmp/formulas";
  await root.run(["/bin/sh", "-ec", `mkdir ${inside}; base64 -d | tar -xJf - -C ${inside}`], {
    stdin: packed,
  });
  const { code, stdout, stderr } = await root.run([process.execPath, script, inside, ...names]);
  if (code !== 0) throw new Error(`the test in a private root failed: ${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}");
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

function unpack(from: string): { path: string; remove(): void } {
  if (existsSync(join(from, "t"))) return { path: join(from, "t"), remove() {} };
  const directory = mkdtempSync(join(tmpdir(), "formulas-"));
  const done = Bun.spawnSync(["tar", "-xJf", join(from, "trees.tar.xz"), "-C", directory]);
  if (done.exitCode !== 0) throw new Error(`cannot unpack ${from}/trees.tar.xz: ${done.stderr.toString()}`);
  return { path: join(directory, "t"), remove: () => rmSync(directory, { recursive: true, force: true }) };
}
