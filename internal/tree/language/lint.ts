import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import type { FileSource } from "../files/mod.ts";
import { Problems, StateErrors, type StateProblem } from "../function/mod.ts";
import { type Compat, createTemplates, type HostFunctions, type Templates } from "../template/mod.ts";
import { compileStates } from "./compile.ts";
import { renderFile, templatesOf } from "./render.ts";
import type { Assigned } from "./top.ts";
import { treeOf } from "./tree.ts";

/** Options of a check of a state tree. */
export interface LintOptions {
  files: FileSource;
  facts: Readonly<Record<string, Plain>>;
  settings: Readonly<Record<string, Plain>>;
  /** How state files are read; `strict` unless given. */
  compat?: Compat;
  /** Functions that templates may call to look at the host; none unless given. */
  host?: HostFunctions;
  /** Encoded. */
  peelId: string;
}

/**
 * Compiles every state file on its own, and the state files of each target in the top file together,
 * regardless of what the target matches. Does not inspect a host.
 *
 * @returns all problems and warnings, each once; `checked` is the number of state files
 */
export async function lintStates(
  subject: LintOptions,
): Promise<{ checked: number; problems: readonly StateProblem[]; warnings: readonly StateProblem[] }> {
  const options = { ...subject, templates: createTemplates() };
  const found: Found = { problems: new Map(), warnings: new Map() };
  const names = treeOf(options.files).names();
  const compile = (mods: readonly string[]) =>
    gather(found, async () => {
      note(found.warnings, (await compileStates(options, mods)).warnings);
    });
  for (const name of names) await compile([name]);
  if (options.files.stat("top.sls") !== undefined) {
    const targets = await gather(found, () => readTargets(options, names));
    for (const target of targets ?? []) await compile(target.map(({ sls }) => sls));
  }
  return {
    checked: names.length,
    problems: [...found.problems.values()],
    warnings: [...found.warnings.values()],
  };
}

/** Returns the state files of each target. @throws StateErrors also when a state file does not exist */
async function readTargets(
  { files, facts, settings, templates, compat, host }: LintOptions & { templates: Templates },
  names: readonly string[],
): Promise<readonly (readonly Assigned[])[]> {
  const problems = new Problems(settings);
  const deps = {
    files,
    renderer: templatesOf({ files, templates }),
    scope: { facts, settings, ...defined({ compat, host }) },
    problems,
  };
  const { environment } = files;
  const top = await renderFile("top.sls", deps, { saltenv: environment, env: environment });
  problems.throwIfAny();
  if (top === undefined) return [];
  const { targetsOf } = await import("./top.ts");
  const found = targetsOf(top, environment, () => names, problems);
  for (const { sls, ...place } of found.flatMap((target) => target.names)) {
    if (!names.includes(sls))
      problems.add(`state file ${sls} does not exist${suggestion(sls, names)}`, place);
  }
  problems.throwIfAny();
  return found.map((target) => target.names);
}

interface Found {
  problems: Map<string, StateProblem>;
  warnings: Map<string, StateProblem>;
}

async function gather<Value>(found: Found, run: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof StateErrors)) throw thrown;
    note(found.problems, thrown.problems);
    note(found.warnings, thrown.warnings);
    return undefined;
  }
}

function note(found: Map<string, StateProblem>, problems: readonly StateProblem[]): void {
  for (const problem of problems) {
    const key = `${problem.file}:${problem.line}: ${problem.message}`;
    if (!found.has(key)) found.set(key, problem);
  }
}
