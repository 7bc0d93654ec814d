import { quote } from "../../base/cut.ts";
import { isNothing, type YamlNode } from "../../base/yaml/yaml.ts";
import { type Place, Problems, type StateFunction, type StateProblem } from "../function/mod.ts";
import { type StateRegistry, stateRegistry } from "../functions/mod.ts";
import type { Compat } from "../template/mod.ts";
import { readArguments } from "./arguments.ts";
import { isRequisite, noCommonArgs, readCommon, requisiteMeant } from "./common-args.ts";
import { findFunction } from "./compile.ts";
import { type DeclaredFunction, readDeclarations } from "./declare.ts";
import { type NamedSource, sourcesOf } from "./named-sources.ts";
import { targetsOf } from "./top.ts";
import { absoluteName } from "./tree.ts";
import { referencesOf } from "./use.ts";

/** A state file or top file, rendered and parsed. */
export interface ParsedFile {
  path: string;
  root: YamlNode;
}

/** A name of a state file, or a glob, with the line of the rendered text that has it. */
export interface Named {
  name: string;
  line: number;
}

/** What a file says by itself, whatever peel it is for. Lines are those of the rendered text. */
export interface Examined {
  /** What keeps the file from being run. */
  faults: readonly StateProblem[];
  /** The same, where something is missing that may only be unknown. */
  forms: readonly StateProblem[];
  /** What may keep it from being run, or may not be meant. */
  notes: readonly StateProblem[];
  /** State files that it includes or assigns. */
  names: readonly Named[];
  /** Files of the tree that its states need. */
  sources: readonly NamedSource[];
}

export interface ExamineOptions {
  compat: Compat;
  /** Whether a text has a part that is not known before the file is rendered for a peel. */
  isUnknown(text: string): boolean;
  /** Whether the whole text is known: arguments are examined then. */
  isKnown: boolean;
  registry?: StateRegistry;
}

/** Examines a state file without the files around it. @param sls its name */
export async function examineState(
  sls: string,
  file: ParsedFile,
  options: ExamineOptions,
): Promise<Examined> {
  const { compat, isUnknown, registry = stateRegistry } = options;
  const [faults, forms] = [new Problems({}), new Problems({})];
  const [notes, unknown] = [new Problems({}), new Problems({})];
  const declared = readDeclarations(sls, file, forms);
  const found = new Map<string, StateFunction>();
  const sources: NamedSource[] = [];
  for (const { id, functions } of [...declared.declarations, ...declared.extends]) {
    for (const each of functions) {
      // An `extend` names the module alone.
      if (each.function === "" || isUnknown(each.function)) {
        examineRequisites(each, {}, forms, compat);
        continue;
      }
      const place = { file: each.file, line: each.line };
      const called =
        found.get(each.function) ?? (await findFunction(each.function, registry, found, unknown, place));
      examineRequisites(each, called?.args ?? {}, forms, compat);
      if (called === undefined) continue;
      sources.push(...sourcesOf(id, each));
      if (compat === "strict") examineNames(each, called, faults);
      if (options.isKnown) readArguments(id, each, called, notes, compat);
    }
  }
  const names = declared.includes.flatMap(({ name, line }) => {
    const absolute = absoluteName(name, sls, file.path);
    if (absolute !== undefined) return [{ name: absolute, line }];
    faults.add(`${name} is outside the tree`, { file: file.path, line });
    return [];
  });
  const isStrict = compat === "strict";
  // A note at the same line says the same in other words.
  const known = new Set([...faults.all, ...forms.all].map(({ line }) => line));
  return {
    faults: [...faults.all, ...(isStrict ? unknown.all : [])],
    forms: forms.all,
    notes: [...(isStrict ? [] : unknown.all), ...notes.all, ...notes.warnings].filter(
      ({ line }) => !known.has(line),
    ),
    names,
    sources,
  };
}

/**
 * Examines a top file.
 *
 * @param environment whose section applies
 * @param names all existing state files, for globs
 */
export function examineTop(file: ParsedFile, environment: string, names: () => readonly string[]): Examined {
  const problems = new Problems({});
  const { root, path } = file;
  if (root.kind === "map" && !root.entries.some(({ key }) => key === environment)) {
    const message = `no section for the environment ${environment}: it has no highstate`;
    return {
      faults: [],
      forms: [],
      notes: [{ message, file: path, line: root.at.line }],
      names: [],
      sources: [],
    };
  }
  const targets = targetsOf(file, environment, names, problems);
  const assigned = targets.flatMap((target) => target.names);
  return {
    faults: [],
    forms: problems.all,
    notes: [],
    names: assigned.map(({ sls, line }) => ({ name: sls, line })),
    sources: [],
  };
}

/** Whether requisites have a form that is known. @param own arguments of the function */
function examineRequisites(
  { args, module }: DeclaredFunction,
  own: StateFunction["args"],
  faults: Problems,
  compat: Compat,
): void {
  for (const arg of args) {
    if (Object.hasOwn(own, arg.name) || (compat === "salt" && isNothing(arg.node))) continue;
    if (arg.name === "use" || arg.name === "use_in") referencesOf(arg, faults);
    else if (isRequisite(arg.name)) readCommon(noCommonArgs(), arg, module, faults);
  }
}

/** Arguments that can only be meant as requisites. */
function examineNames(
  { args, function: name }: DeclaredFunction,
  called: StateFunction,
  faults: Problems,
): void {
  for (const arg of args) {
    if (Object.hasOwn(called.args, arg.name) || called.openArgs !== undefined) continue;
    const meant = requisiteMeant(arg);
    if (meant === undefined) continue;
    const place: Place = { file: arg.file, line: arg.line };
    faults.add(`${name}: unknown requisite ${quote(arg.name)}${meant}`, place);
  }
}
