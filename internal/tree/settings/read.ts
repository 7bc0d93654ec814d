import { createBoundedMap } from "../../base/bounded-map.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { atLine, type TextPosition } from "../../base/place.ts";
import { parseYaml, type YamlNode } from "../../base/yaml/yaml.ts";
import { oldWordsIn } from "../../base/yaml/yaml-old-words.ts";
import { Marks } from "../jinja/mod.ts";
import { readRenderers, variablesOf } from "../template/mod.ts";
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
  yaml(path: string): Promise<ReadYaml>;
}

/** The content of a file. */
export interface ReadYaml {
  root: YamlNode;
  isTemplate: boolean;
  /** The files that the template includes, imports or reads. */
  templates: ReadonlySet<string>;
  /** Where a place of what was parsed is written; absent where templates are not traced. */
  place?(at: TextPosition): { file: string; line: number } | undefined;
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
const shebang = /^#!(.*)/;

/** @param warn called once for each line with a word that YAML 1.1 reads as true or false */
export function createYamlCache(warn: (at: string, message: string) => void = () => {}): YamlCache {
  const known = createBoundedMap<YamlNode>(cachedDocuments);
  const quoted = new WeakSet<YamlNode>();
  const reported = createBoundedMap<true>(cachedDocuments);
  const parse = (text: string, label: string) => {
    const root = parseYaml(text, label, quoted, { anyKeys: true });
    for (const { at, message } of oldWordsIn(root, quoted)) {
      const place = atLine(label, at.line);
      if (reported.get(`${place} ${message}`) !== undefined) continue;
      reported.set(`${place} ${message}`, true);
      warn(place, message);
    }
    return root;
  };
  return {
    quoted,
    parse(path, text, label) {
      if (text.length > largestCached) return parse(text, label);
      const key = `${path}\0${text}`;
      return known.get(key) ?? known.set(key, parse(text, label));
    },
  };
}

/** Finds the line of a template that wrote a place of a rendered text. */
function placesIn(rendered: string, marks: Marks): NonNullable<ReadYaml["place"]> {
  const starts = [0];
  for (let end = rendered.indexOf("\n"); end >= 0; end = rendered.indexOf("\n", end + 1))
    starts.push(end + 1);
  return ({ line, column }) => {
    const found = marks.placeOf((starts[line - 1] ?? 0) + column - 1);
    return found && { file: found.template, line: found.line };
  };
}

/** The variables of a template, with those of its file, as Salt has them. */
export function withFile<Own>(variables: Own, path: string): Own & Record<string, string> {
  const name = path.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", ".");
  return { ...variablesOf(name, path, "base"), ...variables };
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
  /** Whether it is traced where each part of a rendered text comes from. */
  isTraced = false,
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
      const named = shebang.exec(text)?.[1] ?? "jinja|yaml";
      const renderers = readRenderers(named);
      if ("problem" in renderers) throw new SettingsFault(`${path}:1: ${renderers.problem}`);
      const isTemplate = renderers.template && templateMark.test(text);
      const templates = new Set<string>();
      const marks = isTraced && isTemplate ? new Marks() : undefined;
      peel.held.clear();
      try {
        const rendered = isTemplate
          ? await peel.renderer.render(
              { name: path, text },
              peel.scope,
              withFile(peel.variables, path),
              (included) => {
                templates.add(included);
                return textOf(included);
              },
              marks,
            )
          : text;
        // Line numbers of rendered text differ from those of the file.
        const label = isTemplate ? `${path} (rendered)` : path;
        const root = cache.parse(path, rendered, label);
        const read = { isTemplate, templates, ...(marks && { place: placesIn(rendered, marks) }) };
        if (!isTemplate || !peel.held.isIn(rendered)) return { root, ...read };
        if (path !== topFile) return { root: peel.held.fill(root, cache.quoted, label), ...read };
        const at = peel.held.placeIn(root);
        if (at === undefined) return { root, ...read };
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
