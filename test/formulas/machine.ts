import type { StateResult } from "../../internal/host/modules/states-service.ts";
import { binaries } from "../harness/fleet.ts";
import type { PrivateRoot } from "../harness/private-root.ts";
import { hostFacts } from "./host-facts.ts";
import { callPeel, hostId } from "./trees.ts";

/** A state as Salt's list has it. */
export type Low = readonly [called: string, id: string, name: string];

/** What the compiled programs make of formulas and templates on the host that the data was made for. */
export interface Machine {
  /** The states of a formula, or the problems that keep it from compiling. */
  compile(formula: string): Promise<{ states: readonly Low[]; problems: readonly string[] }>;
  /** What fails of a formula with test=true. */
  failures(formula: string): Promise<string[]>;
  /** The text of a template, or what the program says of it where the exit code is not 0. */
  render(template: string): Promise<{ code: number; text: string }>;
}

/** Files that the templates of the probes may load. */
const beside = {
  "d.yaml": "a: 1\n",
  "d.json": '{"a": 1}\n',
  "d.txt": "hi",
  "m.jinja": "{% set v='V' %}",
  "m2.jinja": "M2",
};

/** Programs that templates look for, and that the host of the data did not have. */
const missing = ["git"];

/** Makes a private root, with its trees, that host. */
export async function makeMachine(root: PrivateRoot): Promise<Machine> {
  const must = async (argv: string[], stdin = "") => {
    const { code, stderr } = await root.run(argv, { stdin });
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  };
  await must(["mkdir", "-p", "/data/facts.d", "/srv/probe"]);
  await must(["tee", "/data/facts.d/host.json"], JSON.stringify(hostFacts));
  await must(["tee", "/srv/facts.json"], JSON.stringify({ id: hostId, ...hostFacts }));
  for (const [name, text] of Object.entries(beside)) await must(["tee", `/srv/probe/${name}`], text);
  for (const name of missing) await must(["rm", "-f", `/usr/bin/${name}`]);
  return {
    async compile(formula) {
      const { code, stdout, stderr } = await callPeel(root, formula, "state.show_highstate");
      if (code !== 0) return { states: [], problems: saidLines(stderr) };
      const lows = JSON.parse(stdout) as { function: string; id: string; name: string }[];
      return { states: lows.map(({ function: called, id, name }) => [called, id, name]), problems: [] };
    },
    async failures(formula) {
      const { stdout, stderr } = await callPeel(root, formula, "state.highstate", "test=true");
      if (stdout === "") return saidLines(stderr);
      const { states, stopped } = JSON.parse(stdout) as { states: StateResult[]; stopped?: string };
      const failed = states.filter(({ result }) => result === false);
      return [
        ...(stopped === undefined ? [] : [`the run ended early: ${stopped}`]),
        ...failed.map(({ id, function: called, comment }) => `${called} ${id}: ${comment}`),
      ];
    },
    async render(template) {
      await must(["tee", "/srv/probe/probe.jinja"], template);
      const { code, stdout, stderr } = await root.run([
        ...[binaries.cli, "state", "render", "/srv/probe/probe.jinja", "--root", "/srv/probe"],
        ...["--facts", "/srv/facts.json", "--host-functions", "command", "--output", "json"],
      ]);
      if (code !== 0) return { code, text: stderr };
      return { code, text: (JSON.parse(stdout) as { text: string }).text };
    },
  };
}

/** What a program says on its standard error: the first line, and the marks of an excerpt left out. */
function saidLines(stderr: string): string[] {
  const lines = stderr.split("\n").filter((line) => line !== "" && !/^[> ] +\d* *\|/.test(line));
  return lines.length === 0 ? ["it fails, and says nothing"] : lines;
}
