import { quote } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { type Random, systemRandom } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { isNothing, plainValue, type YamlNode } from "../../base/yaml/yaml.ts";
import type { Facts } from "../../host/facts/mod.ts";
import { encodeSettings, type Labels, reservedNames, type Settings } from "../../wire/settings-envelope.ts";
import type { Guard } from "../jinja/mod.ts";
import { createFactPacker, type FactMap, type Groups } from "../targets/mod.ts";
import { createTemplates, type Watch } from "../template/mod.ts";
import { faultAt, SettingsFault } from "./fault.ts";
import { createWords, HeldFacts } from "./held-facts.ts";
import { layerOf, type Merged, type MergedFile, mergeLayers } from "./layers.ts";
import { mergeSettings } from "./merge.ts";
import { fileOf, type Include, readIncludes } from "./names.ts";
import { createYamlCache, readerOf, type TreeReader } from "./read.ts";
import { createTreeRenderer, type TreeRenderer } from "./render.ts";
import { secretPlaces } from "./secret-places.ts";
import { groupsFile, groupsOf, readTop, type Top, type TopTarget, topFile } from "./top.ts";
import type { SettingsTree } from "./tree.ts";

/** The peel that settings are compiled for. */
export interface Subject {
  /** Encoded peel id, as enforced by the bus, not as claimed by the peel. */
  peelId: string;
  facts: Facts;
  /** What the fleet says of the peel; none unless given. */
  labels?: Labels | undefined;
  /** Notices what templates and the top file read of it. */
  watch?: Watch | undefined;
}

export interface Compiled {
  settings: Settings;
  /** The encoded settings, which are sealed. */
  bytes: Uint8Array;
  /** Which file set what, with lines of rendered texts where files are templates. */
  merged: Merged;
  /** The places of secrets whose names do not show it. */
  secrets: readonly (readonly string[])[];
}

/** Compiles the settings of peels from a tree. */
export interface SettingsCompiler {
  readonly tree: SettingsTree;
  /**
   * Compiles the settings of one peel. Adds every inspected path to `uses`, also on failure, so that changes
   * of other paths can be ignored.
   *
   * @throws SettingsFault
   */
  compile(subject: Subject, uses: Set<string>): Promise<Compiled>;
  /**
   * Compiles the settings of one peel, and tells which file set what.
   *
   * @throws SettingsFault
   */
  trace(subject: Subject): Promise<Merged>;
  /** Targets of the top file that use facts, as written; empty when the top file is a template. */
  factTargets(): readonly { expression: string; at: string }[];
  /** What is wrong with the top file for every peel; `undefined` also for a template, which needs a peel. */
  topProblem(): string | undefined;
}

/** Maximum encoded size of the settings of a peel, which are sent in one message. */
const maxBytes = 256 * 1024;
/** Deeper settings could not be decoded. */
const maxDepth = 24;

export interface CompilerOptions {
  /** Whether nothing may be chosen by facts: no `G@` and `P@` in the top file, no facts in conditions. */
  strictFacts?: boolean;
  random?: Random;
  /** Called with the place of what a file says and may not mean. */
  warn?(at: string, message: string): void;
}

/** Creates compilers that share caches across trees. */
export function createCompilers({
  strictFacts = false,
  random = systemRandom,
  warn,
}: CompilerOptions = {}): (tree: SettingsTree) => SettingsCompiler {
  const words = createWords(random);
  const cache = createYamlCache(warn);
  const packer = createFactPacker(2_048);
  const owns = new WeakMap<YamlNode, Settings>();
  const templates = createTemplates();
  const traced = createTemplates(true);
  return (tree) => {
    const renderer = createTreeRenderer(templates);
    let groups: Groups | undefined;
    const groupsOnce = () => {
      groups ??= groupsOf(tree);
      return groups;
    };
    const topOf = createTopReader({ tree, strictFacts, groups: groupsOnce });
    const compile = async (
      subject: Subject,
      uses: Set<string>,
      tracing?: TreeRenderer,
    ): Promise<Compiled> => {
      const { peelId } = subject;
      const peel = { renderer: tracing ?? renderer, ...peelOf(subject, words, strictFacts) };
      const { facts } = peel.scope;
      const { id, labels } = peel.variables;
      const reader = readerOf(tree, peel, cache, tracing !== undefined);
      try {
        const top = await topOf(reader);
        if (top.usesGroups) reader.has(groupsFile);
        let packed: FactMap | undefined;
        const view = {
          id: peelId,
          labels,
          get facts() {
            packed ??= packer.pack(facts).facts;
            return packed;
          },
        };
        const { watch } = subject;
        const isWanted = ({ test, parsed }: TopTarget) =>
          watch === undefined ? test(view) : watch.matches(parsed);
        const wanted = top.targets.filter(isWanted).flatMap(({ names }) => names);
        const files: MergedFile[] = [];
        const settings = await collect(reader, wanted, owns, (file) => files.push(file));
        const merged = mergeLayers(files.map(layerOf));
        const secrets = secretPlaces(merged);
        const bytes = encodeSettings(settings, { labels, secrets });
        if (bytes.length > maxBytes) {
          throw new SettingsFault(`the settings of ${id} take ${bytes.length} bytes; the limit is 256 KiB`);
        }
        return { settings, bytes, merged, secrets };
      } finally {
        for (const path of reader.uses) uses.add(path);
      }
    };
    let turn: Promise<unknown> = Promise.resolve();
    return {
      tree,
      compile(subject, uses) {
        // Sequentially, because the renderer holds the facts of one peel at a time.
        const compiled = turn.then(() => compile(subject, uses));
        turn = compiled.catch(() => {});
        return compiled;
      },
      async trace(subject) {
        // A renderer of its own: it does not wait for the compilations of the fleet, which share one.
        const tracing = createTreeRenderer(traced);
        return (await compile(subject, new Set(), tracing)).merged;
      },
      topProblem: () => topProblem({ tree, strictFacts, groups: groupsOnce }, cache),
      factTargets: () => factTargets({ tree, strictFacts, groups: groupsOnce }, cache),
    };
  };
}

interface TopSource {
  tree: SettingsTree;
  strictFacts: boolean;
  groups(): Groups;
}

type YamlCache = ReturnType<typeof createYamlCache>;

/** Reads the top file; one without templates is read once for all peels. */
function createTopReader({ tree, strictFacts, groups }: TopSource): (reader: TreeReader) => Promise<Top> {
  const tops = new WeakMap<YamlNode, Top>();
  return async (reader) => {
    if (!reader.has(topFile)) return { targets: [], usesGroups: false };
    const { root, isTemplate } = await wholeUnless(reader.yaml(topFile), isTopTemplate(tree));
    const known = tops.get(root);
    if (known !== undefined) return known;
    try {
      const top = readTop(root, isTemplate ? `${topFile} (rendered)` : topFile, groups);
      if (strictFacts) refuseFacts(top);
      tops.set(root, top);
      return top;
    } catch (thrown) {
      throw asWhole(thrown, isTemplate);
    }
  };
}

/** What is wrong with a top file for every peel. */
function topProblem({ tree, strictFacts, groups }: TopSource, cache: YamlCache): string | undefined {
  const file = tree.files.get(topFile);
  if (file?.text === undefined || isTopTemplate(tree)) return file?.problem;
  try {
    const top = readTop(cache.parse(topFile, file.text, topFile), topFile, groups);
    if (strictFacts) refuseFacts(top);
    return undefined;
  } catch (thrown) {
    return describeError(thrown);
  }
}

function factTargets({ tree, groups }: TopSource, cache: YamlCache): Top["targets"] {
  const file = tree.files.get(topFile);
  if (file?.text === undefined || isTopTemplate(tree)) return [];
  try {
    const root = cache.parse(topFile, file.text, topFile);
    return readTop(root, topFile, groups).targets.filter(({ usesFacts }) => usesFacts);
  } catch {
    // The caller of the compiler gets the error.
    return [];
  }
}

/** What templates know of a peel. */
function peelOf(
  { peelId, facts: reported, labels = {}, watch }: Subject,
  words: ReturnType<typeof createWords>,
  strictFacts: boolean,
) {
  const id = displayPeelId(peelId);
  // A peel can claim any id; the bus knows the real one.
  const facts: Facts = { ...reported, id };
  const held = new HeldFacts(words);
  const guard: Guard = {
    hold: (text, isData) => held.hold(text, isData),
    isHeld: (text) => held.isIn(text),
    refusesChoices: strictFacts,
  };
  return {
    held,
    scope: { facts, settings: {}, isOfSettings: true, guard, ...defined({ watch }) } as const,
    variables: { id, labels },
  };
}

/** Reads the given files in order, each once, and merges later ones over earlier ones. */
async function collect(
  reader: TreeReader,
  wanted: readonly Include[],
  owns: WeakMap<YamlNode, Settings>,
  onFile: (file: MergedFile) => void,
): Promise<Settings> {
  const read = new Set<string>();
  let settings: Settings = {};
  const take = async (include: Include, from: string, trail: readonly string[]): Promise<void> => {
    const path = fileOf(include, from, reader);
    if (trail.includes(path)) {
      const cycle = [...trail.slice(trail.indexOf(path)), path].join(" -> ");
      throw new SettingsFault(`${include.at}: circular include: ${cycle}`);
    }
    if (read.has(path)) return;
    read.add(path);
    const file = await reader.yaml(path);
    const { root, isTemplate } = file;
    const label = isTemplate ? `${path} (rendered)` : path;
    // Included files are merged before the including file.
    for (const inner of readIncludes(root, label)) await take(inner, path, [...trail, path]);
    settings = mergeSettings(settings, ownOf(root, label, owns));
    onFile({ ...file, path, because: include.at });
  };
  for (const include of wanted) await take(include, "", []);
  return settings;
}

/** The settings of the file itself. They are shared by all peels and must not be modified. */
function ownOf(root: YamlNode, label: string, owns: WeakMap<YamlNode, Settings>): Settings {
  const known = owns.get(root);
  if (known !== undefined) return known;
  if (isNothing(root)) return {};
  checkOwn(root, label);
  const { include: _, ...own } = plainValue(root) as Record<string, Plain>;
  owns.set(root, own);
  return own;
}

/** @throws SettingsFault for anything but a map of settings */
export function checkOwn(root: YamlNode, label: string): void {
  if (isNothing(root)) return;
  if (root.kind !== "map") throw faultAt(label, root.at, "expected a map of settings");
  checkNames(root, label, 0);
}

function checkNames(node: YamlNode, label: string, depth: number): void {
  if (depth > maxDepth) throw faultAt(label, node.at, `nested more than ${maxDepth} levels deep`);
  if (node.kind === "list") for (const item of node.items) checkNames(item, label, depth + 1);
  if (node.kind !== "map") return;
  for (const { key, keyAt, value } of node.entries) {
    if (depth === 0 && reservedNames.has(key))
      throw faultAt(label, keyAt, `${key} is not a valid setting name`);
    if (key === "__proto__") throw faultAt(label, keyAt, "__proto__ is not a valid setting name");
    checkNames(value, label, depth + 1);
  }
}

function refuseFacts({ targets }: Top): void {
  const found = targets.find(({ usesFacts }) => usesFacts);
  if (found === undefined) return;
  const target = quote(found.expression, 60);
  throw new SettingsFault(
    `${found.at}: ${target}: the target uses facts, which settings.strict_facts refuses`,
  );
}

function isTopTemplate(tree: SettingsTree): boolean {
  return /\{[{%#]/.test(tree.files.get(topFile)?.text ?? "");
}

/** A top file without templates is the same for all peels, so its errors affect all of them. */
async function wholeUnless<Value>(reading: Promise<Value>, isTemplate: boolean): Promise<Value> {
  try {
    return await reading;
  } catch (thrown) {
    throw asWhole(thrown, isTemplate);
  }
}

function asWhole(thrown: unknown, isTemplate: boolean): unknown {
  if (isTemplate || !(thrown instanceof SettingsFault)) return thrown;
  return new SettingsFault(thrown.message, { wholeTree: true, cause: thrown });
}
