import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "../../host/facts/mod.ts";
import type { Marks } from "../jinja/mod.ts";
import type { Templates } from "../template/mod.ts";
import { analyse, type Dependence } from "./dependence.ts";
import { faultAt } from "./fault.ts";
import { holdFacts } from "./hold-facts.ts";
import type { SettingsTree } from "./tree.ts";

/** The variables of the templates of one peel. Reusing the object for all templates of a peel is cheaper. */
export interface PeelScope {
  readonly facts: Facts;
  /** Always empty, because the settings are being compiled. */
  readonly settings: Readonly<Record<string, Plain>>;
  hold(text: string, isData: boolean): string;
  isHeld(text: string): boolean;
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

export function createTreeRenderer(
  templates: Templates,
  tree: SettingsTree,
  /** Whether a template may not choose by facts. */
  { strictFacts }: { strictFacts: boolean },
): TreeRenderer {
  let readNow: (path: string) => string | undefined = () => undefined;
  let known: ReadonlyMap<string, Dependence> | undefined;
  const held = new Map<string, string>();
  /** The text that contains facts. @throws SettingsFault when they cannot be */
  const heldText = (path: string, text: string): string => {
    const before = held.get(path);
    if (before !== undefined) return before;
    known ??= analyse(templatesOf(tree));
    const dependence = known.get(path);
    if (dependence === undefined) return text;
    const [fault] = dependence.faults;
    if (fault !== undefined) throw faultAt(path, { ...fault, column: 1 }, fault.reason);
    const [choice] = dependence.choices;
    if (strictFacts && choice !== undefined) {
      throw faultAt(path, { ...choice, column: 1 }, `${choice.reason}, which settings.strict_facts refuses`);
    }
    const safe = holdFacts(text, dependence);
    held.set(path, safe);
    return safe;
  };
  const renderer = templates.renderer(async (path) => {
    const text = readNow(path);
    return text === undefined ? undefined : heldText(path, text);
  });
  return {
    async render({ name, text }, scope, variables, read, marks) {
      readNow = read;
      const own = marks === undefined ? scope : { ...scope, marks };
      return await renderer.render({ name, text: heldText(name, text) }, own, variables);
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
