import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "../../host/facts/mod.ts";
import type { Guard, Marks } from "../jinja/mod.ts";
import type { Templates, Watch } from "../template/mod.ts";
import type { SettingsTree } from "./tree.ts";

/** The variables of the templates of one peel. Reusing the object for all templates of a peel is cheaper. */
export interface PeelScope {
  readonly facts: Facts;
  /** Always empty, because the settings are being compiled. */
  readonly settings: Readonly<Record<string, Plain>>;
  readonly isOfSettings: true;
  readonly guard: Guard;
  /** Absent where nobody needs to know what templates read. */
  readonly watch?: Watch;
}

/** Renders the templates of one tree, for one peel at a time. */
export interface TreeRenderer {
  /**
   * @param read returns a file that the template includes, and records its path
   * @param marks gets where each part of the text comes from, with templates for checks
   * @throws SvcError naming the template and the line
   */
  render(
    template: { name: string; text: string },
    scope: PeelScope,
    variables: Readonly<Record<string, Plain>>,
    read: (path: string) => string | undefined,
    marks?: Marks,
  ): Promise<string>;
}

const markup = /\{[{%#]/;

export function createTreeRenderer(templates: Templates): TreeRenderer {
  let readNow: (path: string) => string | undefined = () => undefined;
  const renderer = templates.renderer(async (path) => readNow(path));
  return {
    async render(template, scope, variables, read, marks) {
      readNow = read;
      return await renderer.render(template, marks === undefined ? scope : { ...scope, marks }, variables);
    },
  };
}

/** The texts of a tree in which there is markup, by path. */
export function templatesOf(tree: SettingsTree): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, { text }] of tree.files)
    if (text !== undefined && markup.test(text)) found.set(path, text);
  return found;
}
