import { createBoundedMap } from "../../base/bounded-map.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, type YamlNode } from "../../base/yaml.ts";
import { faultAt, SettingsFault } from "./fault.ts";
import type { HeldFacts } from "./held-facts.ts";
import type { PeelScope, TreeRenderer } from "./render.ts";
import { topFile } from "./top.ts";
import type { SettingsTree } from "./tree.ts";

/** Reads files of a tree for one peel, and records which. */
export interface TreeReader {
  /** Inspected paths, including missing ones. */
  readonly uses: ReadonlySet<string>;
  has(path: string): boolean;
  /** The YAML of a file, rendered when it is a template. @throws SettingsFault */
  yaml(path: string): Promise<{ root: YamlNode; isTemplate: boolean }>;
}

/** Parsed files by rendered text; most peels of a fleet share them. */
export interface YamlCache {
  parse(path: string, text: string, label: string): YamlNode;
  /** The scalars of all these that are texts because of how they are written. */
  readonly quoted: WeakSet<YamlNode>;
}

const cachedDocuments = 1_024;
/** Larger ones are not kept: a peel whose facts are in one could fill the memory with its own. */
const largestCached = 16 * 1024;
const templateMark = /\{[{%#]/;
/** A first line that names the renderer of a file, as in Salt. */
const shebang = /^#!\s*(\S+)/;
const renderers: ReadonlySet<string> = new Set(["yaml", "jinja", "jinja|yaml", "jinja2|yaml"]);

export function createYamlCache(): YamlCache {
  const known = createBoundedMap<YamlNode>(cachedDocuments);
  const quoted = new WeakSet<YamlNode>();
  return {
    quoted,
    parse(path, text, label) {
      if (text.length > largestCached) return parseYaml(text, label, quoted);
      const key = `${path}\0${text}`;
      return known.get(key) ?? known.set(key, parseYaml(text, label, quoted));
    },
  };
}

export function readerOf(
  tree: SettingsTree,
  peel: {
    renderer: TreeRenderer;
    scope: PeelScope;
    held: HeldFacts;
    variables: Readonly<Record<string, Plain>>;
  },
  cache: YamlCache,
): TreeReader {
  const uses = new Set<string>();
  const textOf = (path: string): string | undefined => {
    uses.add(path);
    const file = tree.files.get(path);
    if (file?.problem !== undefined) throw new SettingsFault(`${path}: ${file.problem}`);
    return file?.text;
  };
  return {
    uses,
    has(path) {
      uses.add(path);
      return tree.files.has(path);
    },
    async yaml(path) {
      const text = textOf(path) ?? "";
      const named = shebang.exec(text)?.[1];
      if (named !== undefined && !renderers.has(named)) {
        throw new SettingsFault(
          `${path}:1: the renderer ${named.slice(0, 40)} is not supported: use jinja|yaml`,
        );
      }
      const isTemplate = named !== "yaml" && templateMark.test(text);
      peel.held.clear();
      try {
        const rendered = isTemplate
          ? await peel.renderer.render({ name: path, text }, peel.scope, peel.variables, textOf)
          : text;
        // Line numbers of rendered text differ from those of the file.
        const label = isTemplate ? `${path} (rendered)` : path;
        const root = cache.parse(path, rendered, label);
        if (!isTemplate || !peel.held.isIn(rendered)) return { root, isTemplate };
        if (path !== topFile) return { root: peel.held.fill(root, cache.quoted, label), isTemplate };
        const at = peel.held.placeIn(root);
        if (at === undefined) return { root, isTemplate };
        throw faultAt(label, at, "what a top file assigns may not depend on facts");
      } catch (thrown) {
        if (thrown instanceof SettingsFault) throw thrown;
        const reason = thrown instanceof SvcError ? thrown.message : describeError(thrown);
        const placed = reason.includes(path) ? reason : `${path}: ${reason}`;
        throw new SettingsFault(placed, { cause: thrown });
      }
    },
  };
}
