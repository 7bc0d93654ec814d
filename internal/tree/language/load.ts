import { suggestion } from "../../base/nearest.ts";
import type { Place } from "../function/mod.ts";
import { variablesOf } from "../template/mod.ts";
import { type DeclaredFile, readDeclarations } from "./declare.ts";
import { type RenderDeps, renderFile } from "./render.ts";
import { absoluteName, type Tree } from "./tree.ts";

/** A requested state file, with the place that requests it; no place when the caller named it. */
export type Wanted = { sls: string } & Partial<Place>;

export interface LoadDeps extends RenderDeps {
  tree: Tree;
}

/**
 * Renders state files and the files they include, each once; included files come first. Files may include
 * each other, as in Salt.
 *
 * @returns the files in the order of their states
 */
export async function loadFiles(wanted: readonly Wanted[], deps: LoadDeps): Promise<DeclaredFile[]> {
  const { tree, files, problems } = deps;
  const seen = new Set<string>();
  const loaded: DeclaredFile[] = [];
  const load = async ({ sls, file, line }: Wanted, from: readonly string[]): Promise<void> => {
    if (seen.has(sls)) return;
    seen.add(sls);
    const path = tree.pathOf(sls);
    if (path === undefined) {
      const message = `state file ${sls} does not exist${suggestion(sls, tree.names())}`;
      problems.add(message, file === undefined ? {} : { file, line: line ?? 0 });
      return;
    }
    const rendered = await renderFile(path, deps, variablesOf(sls, path, files.environment));
    if (rendered === undefined) return;
    const declared = readDeclarations(sls, rendered, problems);
    for (const include of declared.includes) {
      const name = absoluteName(include.name, sls, path);
      const place = { file: include.file, line: include.line };
      if (name === undefined) problems.add(`${include.name} is outside the tree`, place);
      else for (const each of await expand(name, tree)) await load({ sls: each, ...place }, [...from, sls]);
    }
    loaded.push({ ...declared, includedFrom: from });
  };
  for (const each of wanted) await load(each, []);
  return loaded;
}

/** Loaded on demand: the glob matcher pulls in all of targeting, which few trees need. */
async function expand(name: string, tree: Tree): Promise<readonly string[]> {
  if (!/[*?[]/.test(name)) return [name];
  return (await import("./top.ts")).expandName(name, () => tree.names());
}
