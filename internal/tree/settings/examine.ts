import type { YamlNode } from "../../base/yaml/yaml.ts";
import { checkOwn } from "./compile.ts";
import { SettingsFault } from "./fault.ts";
import { problemsOf, warningsOf } from "./lint.ts";
import { fileOf, readIncludes } from "./names.ts";
import { withFile } from "./read.ts";
import { templatesOf } from "./render.ts";
import { factUsesOf, type Place } from "./template-facts.ts";
import { groupsFile, groupsOf, readTop, topFile } from "./top.ts";
import type { SettingsTree } from "./tree.ts";
import { weakValuesIn } from "./weak-values.ts";

/** What is wrong in a file. */
export interface Wrong {
  file: string;
  line: number;
  reason: string;
}

/** What a settings file says by itself, whatever peel it is for. Lines are those of the rendered text. */
export interface ExaminedSettings {
  faults: readonly Wrong[];
  /** Files that it includes or assigns. */
  names: readonly { name: string; line: number }[];
}

export interface ExamineSettingsOptions {
  tree: SettingsTree;
  /** `settings.strict_facts` of the masters. */
  strictFacts: boolean;
}

/** Examines the data of a settings file, or of the top file. */
export function examineSettings(
  path: string,
  root: YamlNode,
  { tree, strictFacts }: ExamineSettingsOptions,
): ExaminedSettings {
  const names: { name: string; line: number }[] = [];
  const add = ({ name, at }: { name: string; at: string }) => names.push({ name, line: lineOf(at) });
  const faults: Wrong[] = [];
  try {
    if (path === topFile) {
      for (const target of readTop(root, path, () => groupsOf(tree)).targets) {
        for (const each of target.names) add(each);
        if (strictFacts && target.usesFacts)
          faults.push({ file: path, line: lineOf(target.at), reason: usesFacts });
      }
    } else {
      for (const each of readIncludes(root, path)) add(each);
      checkOwn(root, path);
    }
  } catch (thrown) {
    if (!(thrown instanceof SettingsFault)) throw thrown;
    faults.push(wrongOf(path, thrown.message));
  }
  return { faults, names };
}

const usesFacts = "the target uses facts, which settings.strict_facts refuses";

/** Why a name leads to no file of the tree; the path when it leads to one. @param from the file that has the name */
export function pathOfName(
  name: string,
  from: string,
  tree: SettingsTree,
): { path: string } | { reason: string } {
  const reader = { has: (path: string) => tree.files.has(path) };
  try {
    return { path: fileOf({ name, at: "here:1" }, from === topFile ? "" : from, reader) };
  } catch (thrown) {
    if (!(thrown instanceof SettingsFault)) throw thrown;
    return { reason: wrongOf("", thrown.message).reason };
  }
}

/** What templates do with facts, by their path: what cannot be rendered safely, and where a fact chooses. */
export function examineTemplates(
  tree: SettingsTree,
): ReadonlyMap<string, { faults: readonly Place[]; choices: readonly Place[] }> {
  return factUsesOf(templatesOf(tree));
}

/** Where a fact chooses what a peel gets, words that are texts here and something else in Salt, and weak secrets. */
export function hintsOf(tree: SettingsTree): Wrong[] {
  return [...problemsOf(tree), ...warningsOf(tree), ...weakValuesIn(tree)].map((line) =>
    wrongOf(topFile, line),
  );
}

/** What keeps masters from reading the node groups, whether a top file uses them or not; with its column. */
export function groupFaults(tree: SettingsTree): (Wrong & { column: number })[] {
  try {
    groupsOf(tree);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof SettingsFault)) throw thrown;
    const column = Number(/^\S+?:\d+:(\d+): /.exec(thrown.message)?.[1] ?? 1);
    return [{ ...wrongOf(groupsFile, thrown.message), column }];
  }
}

/** The variables of the template of a settings file, without those of a peel. */
export const settingsVariables = (path: string): Record<string, string> => withFile({}, path);

const lineOf = (at: string): number => Number(/:(\d+)(?::\d+)?$/.exec(at)?.[1] ?? 1);

/** A message with its place in front. @param path where it has none */
function wrongOf(path: string, message: string): Wrong {
  const [, file, line, reason] = /^(\S+?)(?: \(rendered\))?:(\d+)(?::\d+)?: (.*)$/s.exec(message) ?? [];
  if (file === undefined || reason === undefined) return { file: path, line: 1, reason: message };
  return { file, line: Number(line), reason };
}
