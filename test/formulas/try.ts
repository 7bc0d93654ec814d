import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { checkCall } from "../../internal/host/modules/registry.ts";
import { runStates } from "../../internal/tree/run/run.ts";
import { fixedFacts } from "../harness/facts.ts";
import { fixedSettings } from "../harness/settings.ts";
import { compileTree } from "./compile.ts";
import { hostFacts } from "./host.ts";

// Tests what the formulas of a directory would change on this machine, and prints what failed in each as JSON.
// Conditions of states run commands of the formulas, so main.ts starts this in a private root.

const [trees = "", ...names] = process.argv.slice(2);
const results: Record<string, string[]> = {};
for (const name of names) results[name] = await failuresOf(join(trees, name));
process.stdout.write(`${JSON.stringify(results)}\n`);

async function failuresOf(directory: string): Promise<string[]> {
  try {
    const compiled = await compileTree(directory, { compat: "salt", commands: false });
    const context = {
      clock: systemClock,
      facts: fixedFacts(hostFacts),
      settings: fixedSettings(compiled.settings),
      signal: AbortSignal.timeout(120_000),
    };
    const { states, stopped } = await runStates(compiled.compiled, {
      ...{ ...context, test: true, jitter: () => 0 },
      call: async (name, args) => checkCall(name, args).run(args, context),
    });
    const failed = states.filter(({ result }) => result === false);
    return [
      ...(stopped === undefined ? [] : [`the run ended early: ${stopped}`]),
      ...failed.map(({ id, function: called, comment }) => `${called} ${id}: ${comment}`),
    ];
  } catch (thrown) {
    return [thrown instanceof Error ? thrown.message : String(thrown)];
  }
}
