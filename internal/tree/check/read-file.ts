import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, type YamlNode } from "../../base/yaml/yaml.ts";
import { oldWordsIn } from "../../base/yaml/yaml-old-words.ts";
import { Budget, Marks } from "../jinja/mod.ts";
import { type Compat, type Renderer, readRenderers, type Scope, TemplateError } from "../template/mod.ts";
import type { Finding } from "./finding.ts";
import { type Assumption, worldOf } from "./worlds.ts";

/** A file as it is for one assumption of what is unknown. */
export interface Reading {
  /** Its data; absent when it cannot be rendered, or is not YAML. */
  root?: YamlNode;
  /** Why there is none. */
  fault?: Finding;
  /** What may not be meant. */
  hints: readonly Finding[];
  /** Whether anything of it is unknown. */
  isTouched: boolean;
  /** What it took, in steps of templates. */
  work: number;
  /** The place that wrote a place of the rendered text; both count from 1. */
  placeOf(at: { line: number; column?: number }): Omit<Finding, "reason">;
}

export interface ReadOptions {
  renderer: Renderer;
  /** Variables that only a host knows. */
  unknown: ReadonlySet<string>;
  compat: Compat;
  variables: Readonly<Record<string, Plain>>;
  /** What templates of this kind have besides: settings have facts that are held. */
  scope?: Partial<Scope>;
  /** Whether `yes` and its kin are named where they are texts. */
  namesOldWords: boolean;
}

/** Larger files would take too long, and YAML of this size is refused anyway. */
export const maxFileBytes = 1024 * 1024;
/** The first line of a file may name a renderer. */
const shebang = /^#!(.*)/;

/** Renders and parses a file for one assumption. */
export async function readFile(
  path: string,
  source: string,
  assumption: Assumption,
  { renderer, unknown, compat, variables, scope = {}, namesOldWords }: ReadOptions,
): Promise<Reading> {
  const world = worldOf(assumption);
  const budget = new Budget();
  const marks = new Marks();
  const hints: Finding[] = [];
  let text: string | undefined;
  const placeOf: Reading["placeOf"] = (at) => sourceOf(path, text, marks, at);
  const read = (rest: Pick<Reading, "root" | "fault">): Reading => ({
    ...rest,
    ...{ hints, isTouched: world.isTouched, placeOf },
    work: budget.used + source.length,
  });
  const renderers = readRenderers(shebang.exec(source)?.[1] ?? "jinja|yaml");
  if ("problem" in renderers) {
    return read({ fault: { file: path, line: 1, column: 1, reason: renderers.problem } });
  }
  try {
    const onUndefined = (name: string, { file, line }: { file: string; line: number }) => {
      hints.push({ file, line, column: 1, reason: `${name} is not defined` });
    };
    const full: Scope = {
      ...{ facts: {}, settings: {}, compat, ...scope, onUndefined },
      check: { world, unknown, marks, budget },
    };
    text = renderers.template ? await renderer.render({ name: path, text: source }, full, variables) : source;
    const quoted = new WeakSet<YamlNode>();
    const root = parseYaml(text, path, quoted, { anyKeys: true, oldWords: compat === "salt" });
    if (namesOldWords) {
      for (const { at, message } of oldWordsIn(root, quoted)) hints.push({ ...placeOf(at), reason: message });
    }
    return read({ root });
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    return read({ fault: faultOf(thrown, path, placeOf) });
  }
}

function faultOf(error: SvcError, path: string, placeOf: Reading["placeOf"]): Finding {
  if (error instanceof TemplateError) {
    const { file, line, column, reason } = error;
    return { file, line: Math.max(1, line), column: Math.max(1, column), reason };
  }
  const [, line, column, reason = error.message] = /^.*?:(\d+):(\d+): (.*)$/s.exec(error.message) ?? [];
  if (line === undefined || !error.message.startsWith(`${path}:`)) {
    return { file: path, line: 1, column: 1, reason: error.message };
  }
  return { ...placeOf({ line: Number(line), column: Number(column) }), reason };
}

/** The place in the source of a place of the rendered text. */
function sourceOf(
  path: string,
  text: string | undefined,
  marks: Marks,
  { line, column }: { line: number; column?: number },
): Omit<Finding, "reason"> {
  const plain = { file: path, line, column: column ?? 1 };
  if (text === undefined) return plain;
  let start = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf("\n", start);
    if (end < 0) break;
    start = end + 1;
  }
  // White space in front is often what stands before a tag.
  const offset =
    column === undefined ? start + (/^[ \t]*/.exec(text.slice(start))?.[0].length ?? 0) : start + column - 1;
  const found = marks.placeOf(offset);
  if (found === undefined) return plain;
  return { file: found.template, line: found.line, column: column === undefined ? 1 : found.column };
}
