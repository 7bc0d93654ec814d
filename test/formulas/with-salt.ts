import { parseArgs } from "node:util";
import type { LowDifference } from "../../internal/agent/command/compare-low.ts";
import { table } from "../bench/table.ts";
import { openPrivateRoot } from "../harness/private-root.ts";
import { comparePeel, saltAlone, treesIn, unpackTrees } from "./trees.ts";

// Compares what the compiled peel and an installed Salt make of formulas, with --compare-salt: states, order and arguments.
// DIRECTORY has the trees (trees.tar.xz, or unpacked below t/). Both see the same host, a private root of this machine.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** The directory of salt-call. */
    salt: { type: "string", default: "/usr/bin" },
    /** Compares these formulas alone, and shows every difference. */
    only: { type: "string", multiple: true, default: [] },
  },
});
const minion = "file_client: local\nenable_gpu_grains: false\ngrains: {init: systemd}\n";
const [directory = "../shared/formulas"] = positionals;
await using root = await openPrivateRoot();
await unpackTrees(root, directory);
await root.run(["hostname", "web-1"]);
await root.run([
  "/bin/sh",
  "-c",
  "echo '192.0.2.10 web-1.example.com web-1' >>/etc/hosts; mkdir -p /etc/salt",
]);
await root.run(["tee", "/etc/salt/minion"], { stdin: minion });
await root.run(["mkdir", "-p", "/data/facts.d"]);
await root.run(["tee", "/data/facts.d/host.json"], { stdin: JSON.stringify({ init: "systemd" }) });

const isAll = values.only.length === 0;
const names = (await treesIn(root)).filter((name) => isAll || values.only.includes(name));
const rows: string[][] = [];
const counted = [0, 0, 0, 0];
for (const name of names) {
  const { difference, problem } = await compare(name);
  const is =
    difference === undefined
      ? undefined
      : [
          difference.only_salt.length + difference.only_here.length === 0,
          difference.order === undefined,
          difference.arguments.length === 0,
        ];
  for (const [at, each] of [is !== undefined, ...(is ?? [])].entries()) {
    counted[at] = (counted[at] ?? 0) + Number(each);
  }
  const all = difference === undefined ? [problem] : linesOf(difference);
  const [shown = ""] = all;
  const more = all.length > 1 ? ` (and ${all.length - 1} more)` : "";
  const words = (is ?? [undefined, undefined, undefined]).map((each) => (each === true ? "yes" : "no"));
  const compiles = is === undefined ? (problem.includes("Salt does not compile") ? "Salt no" : "no") : "yes";
  rows.push([name, compiles, ...words, `${shown.replace(/\s+/g, " ").slice(0, 200)}${more}`]);
  if (!isAll) process.stdout.write(`${name}\n${all.join("\n")}\n\n`);
}
const heads = ["formula", "compile", "states", "order", "arguments", "problem or difference"];
process.stdout.write(`${table(heads, rows, heads.length)}\n\n`);
const [compiled, same, ordered, alike] = counted;
process.stdout.write(
  `${compiled} of ${names.length} compile in both; ${same} have the same states, ${ordered} the same order, ${alike} the same arguments\n`,
);

async function compare(name: string): Promise<{ difference?: LowDifference; problem: string }> {
  // Salt keeps the list of files of a tree, and would take it for that of the next one.
  await root.run(["rm", "-rf", "/var/cache/salt"]);
  const { stdout, stderr } = await comparePeel(root, name, values.salt);
  if (stdout === "") {
    if (stderr.includes("Salt does not compile")) return { problem: stderr.trim() };
    const salt = await saltAlone(root, name, values.salt);
    return {
      problem: `${salt ? "Salt compiles it: " : "Salt does not compile it either: "}${stderr.trim()}`,
    };
  }
  return { difference: JSON.parse(stdout) as LowDifference, problem: "" };
}

function linesOf({ only_salt, only_here, order, arguments: differing }: LowDifference): string[] {
  return [
    ...only_salt.map((state) => `- ${JSON.stringify(Object.values(state))}`),
    ...only_here.map((state) => `+ ${JSON.stringify(Object.values(state))}`),
    ...(order === undefined
      ? []
      : [
          `order: number ${order.position} is ${JSON.stringify(Object.values(order.salt))}, ` +
            `here ${JSON.stringify(Object.values(order.here))}`,
        ]),
    ...differing.map(
      ({ state, argument, salt, here }) =>
        `${state.function} ${state.id} ${argument}: ${JSON.stringify(salt)}, here ${JSON.stringify(here)}`,
    ),
  ];
}
