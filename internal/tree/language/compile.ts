import { quote } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { suggestion } from "../../base/nearest.ts";
import type { CallArgs } from "../../host/modules/mod.ts";
import type { FileSource } from "../files/mod.ts";
import {
  type LowState,
  type Place,
  Problems,
  type StateFunction,
  type StateProblem,
} from "../function/mod.ts";
import { type StateRegistry, stateRegistry } from "../functions/mod.ts";
import type { Compat, HostFunctions, Renderer, Scope, Templates, Watch } from "../template/mod.ts";
import { problemsOfCall, type ReadState, readArguments } from "./arguments.ts";
import { noCommonArgs } from "./common-args.ts";
import type { Declaration } from "./declare.ts";
import { mergeFiles } from "./extend.ts";
import { type LoadDeps, loadFiles, type Wanted } from "./load.ts";
import { placeInOrder } from "./place-in-order.ts";
import { renderFile, templatesOf } from "./render.ts";
import { resolveRequisites } from "./requisites.ts";
import { treeOf } from "./tree.ts";
import { applyUses } from "./use.ts";

export interface CompileOptions {
  files: FileSource;
  templates: Templates;
  facts: Readonly<Record<string, Plain>>;
  settings: Readonly<Record<string, Plain>>;
  /** What targets of the top file and of `match` in templates see of them; all of it unless given. */
  shownSettings?: Readonly<Record<string, Plain>>;
  /** What the fleet says of the peel; none unless given. */
  labels?: Readonly<Record<string, string>>;
  /** How templates and arguments are read; `strict` unless given. */
  compat?: Compat;
  /** Functions that templates may call to look at the host; none unless given. */
  host?: HostFunctions;
  /** Notices what templates and the top file read. */
  watch?: Watch;
  /** What `opts` has in templates, in addition. */
  opts?: Readonly<Record<string, Plain>>;
  /** Encoded. */
  peelId: string;
  registry?: StateRegistry;
}

/** States in execution order, with the functions that run them. */
export interface CompiledStates {
  states: readonly LowState[];
  /** The state functions in use, by name. */
  functions: ReadonlyMap<string, StateFunction>;
  files: FileSource;
  renderer: Renderer;
  scope: Scope;
  /** What the files say that may not be meant. */
  warnings: readonly StateProblem[];
}

/**
 * Renders state files and compiles them to an ordered list of state function calls.
 *
 * @param what names of state files (`web.nginx`), or `highstate` for the ones that top.sls assigns to the
 *   peel
 * @throws StateErrors with all problems found
 */
export async function compileStates(
  options: CompileOptions,
  what: readonly string[] | "highstate",
): Promise<CompiledStates> {
  const deps = prepare(options);
  const wanted = what === "highstate" ? await assigned(options, deps) : what.map((sls) => ({ sls }));
  const files = await loadFiles(wanted, deps);
  const declarations = mergeFiles(files, deps.problems);
  applyUses([...declarations.values()], deps.problems);
  const { states, functions } = await readStates([...declarations.values()], options, deps.problems);
  const loaded = new Map(files.map(({ sls, includedFrom = [] }) => [sls, includedFrom]));
  const requisites = resolveRequisites(states, loaded, deps.problems, options.compat);
  deps.problems.throwIfAny();
  const ordered = placeInOrder(
    states.map((state, index) => ({ ...state, requisites: requisites[index] ?? [] })),
    deps.problems,
    options.compat,
  );
  return {
    states: ordered,
    functions,
    files: options.files,
    renderer: deps.renderer,
    scope: deps.scope,
    warnings: deps.problems.warnings,
  };
}

/**
 * Returns the names of the state files that top.sls assigns to the peel.
 *
 * @throws StateErrors
 */
export async function assignedStates(options: CompileOptions): Promise<string[]> {
  const deps = prepare(options);
  const wanted = await assigned(options, deps);
  deps.problems.throwIfAny();
  return wanted.map(({ sls }) => sls);
}

/**
 * Compiles a single state that is not declared in a file.
 *
 * @throws StateErrors
 */
export async function compileSingle(
  options: CompileOptions,
  call: { function: string; name: string; args: CallArgs },
): Promise<CompiledStates> {
  const deps = prepare(options);
  const functions = new Map<string, StateFunction>();
  const called = await findFunction(
    call.function,
    options.registry ?? stateRegistry,
    functions,
    deps.problems,
    {},
  );
  for (const problem of called === undefined ? [] : problemsOfCall(called, call.args))
    deps.problems.add(problem);
  deps.problems.throwIfAny();
  const { sortBy: _, retry: __, event: ___, ...common } = noCommonArgs();
  const state: LowState = {
    ...common,
    requisites: [],
    order: 0,
    id: call.name,
    sls: "",
    function: call.function,
    name: call.name,
    args: { ...call.args },
    file: "",
    line: 0,
  };
  return {
    states: [state],
    functions,
    files: options.files,
    renderer: deps.renderer,
    scope: deps.scope,
    warnings: [],
  };
}

function prepare(options: CompileOptions): LoadDeps {
  const { files, facts, settings, labels = {}, compat = "strict" } = options;
  const problems = new Problems(settings);
  const scope: Scope = {
    ...{ facts, settings, labels, compat },
    ...defined({ host: options.host, opts: options.opts, shownSettings: options.shownSettings }),
    ...defined({ watch: options.watch }),
    onUndefined: (name, place) =>
      problems.warn(`${name} is not defined, and written as an empty text`, place),
  };
  return { files, renderer: templatesOf(options), scope, problems, tree: treeOf(files) };
}

async function assigned(options: CompileOptions, deps: LoadDeps): Promise<Wanted[]> {
  const { files, facts, settings, shownSettings = settings, labels = {}, peelId } = options;
  if (files.stat("top.sls") === undefined) {
    deps.problems.add(
      `environment ${files.environment} has no top.sls; add one that assigns state files to peels`,
    );
    return [];
  }
  const variables = { saltenv: files.environment, env: files.environment };
  const top = await renderFile("top.sls", deps, variables);
  if (top === undefined) return [];
  const { assignedBy, matcherFor } = await import("./top.ts");
  const subject = { peelId, facts: { ...facts }, settings: { ...shownSettings }, labels };
  const matches = options.watch?.matches.bind(options.watch) ?? matcherFor(subject);
  return assignedBy(top, files.environment, () => deps.tree.names(), matches, deps.problems);
}

/** A state that is not ordered yet. */
type Read = ReadState & Place & { id: string; sls: string; function: string; isLate?: boolean };

async function readStates(
  declarations: readonly Declaration[],
  { registry = stateRegistry, compat = "strict" }: CompileOptions,
  problems: Problems,
): Promise<{ states: Read[]; functions: Map<string, StateFunction> }> {
  const states: Read[] = [];
  const functions = new Map<string, StateFunction>();
  for (const { id, sls, functions: declared } of declarations) {
    for (const each of declared) {
      const place = { file: each.file, line: each.line };
      const late = defined({ isLate: each.isLate });
      const called =
        functions.get(each.function) ??
        (await findFunction(each.function, registry, functions, problems, place));
      if (called === undefined) continue;
      for (const read of readArguments(id, each, called, problems, compat)) {
        states.push({ ...read, id, sls, function: each.function, ...place, ...late });
      }
    }
  }
  return { states, functions };
}

export async function findFunction(
  name: string,
  registry: StateRegistry,
  found: Map<string, StateFunction>,
  problems: Problems,
  place: Partial<Place>,
): Promise<StateFunction | undefined> {
  const module = name.slice(0, Math.max(0, name.indexOf(".")));
  const called = (await registry.functionsOf(module)).find((each) => each.name === name);
  if (called !== undefined) found.set(name, called);
  else {
    const names = (await registry.all()).map((each) => each.name);
    problems.add(`unknown state function ${quote(name)}${suggestion(name, names)}`, place);
  }
  return called;
}
