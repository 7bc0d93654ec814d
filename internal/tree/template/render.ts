import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { Budget } from "../jinja/mod.ts";
import { createEngine, type Engine } from "./engine.ts";
import { TemplateError } from "./error.ts";
import { type Answers, type HostCall, keyOfCall } from "./host-call.ts";
import { treePath } from "./salt/data.ts";
import type { Scope } from "./scope.ts";

export interface Template {
  /** Its path in the tree, for messages. */
  name: string;
  text: string;
}

/** Renders templates of any tree; what a process renders with the same one shares an engine. */
export interface Templates {
  /**
   * @param read the text of a file that a template includes, imports or extends; `undefined` when there is none
   * @param paths the paths of the tree, where templates may list them
   */
  renderer(read: Read, paths?: () => readonly string[]): Renderer;
}

type Read = (path: string) => Promise<string | undefined>;

/** Renders templates of one tree of files. */
export interface Renderer {
  /**
   * @param scope values of facts, grains, settings, pillar and salt; reusing a scope object is cheaper
   * @param variables additional variables
   * @throws TemplateError with the place of an undefined value, a syntax error or an exceeded limit
   */
  render(template: Template, scope: Scope, variables?: Readonly<Record<string, Plain>>): Promise<string>;
}

/** Maximum length of rendered text, in characters. */
const maxOutput = 8 * 1024 * 1024;
/** Maximum number of templates that one template includes, directly or indirectly. */
const maxIncluded = 256;
/** Maximum number of calls of the host in one rendering. */
const maxCalls = 200;
const markup = /\{[{%#]/;

/** @param isChecked whether the templates are checked alone: every scope has `check` then */
export function createTemplates(isChecked = false): Templates {
  const engine = createEngine(isChecked);
  return { renderer: (read, paths) => createRenderer(read, engine, paths) };
}

function createRenderer(read: Read, engine: Engine, paths: (() => readonly string[]) | undefined): Renderer {
  /** Adds the named templates, and what these name themselves. */
  const collect = async (into: Files, names: readonly string[]) => {
    for (const name of names.map(treePath)) {
      if (into.absent.has(name) || into.templates.has(name) || into.tried.size >= maxIncluded) continue;
      if (into.tried.has(name)) continue;
      into.tried.add(name);
      const text = await read(name);
      if (text === undefined) {
        into.absent.add(name);
        continue;
      }
      await collect(into, literalNames(text));
      into.templates.set(name, text);
    }
  };

  return {
    async render(template, scope, variables = {}) {
      if (!markup.test(template.text)) return template.text;
      const files: Files = { templates: new Map(), absent: new Set(), tried: new Set() };
      await collect(files, literalNames(template.text));
      const answers: Answers = new Map();
      const budget = scope.check?.budget ?? new Budget();
      for (;;) {
        const known = files.tried.size;
        try {
          const templates = new Map([...files.templates, [treePath(template.name), template.text]]);
          const loaded = { templates, absent: files.absent, answers, paths, budget };
          const output = engine.render(loaded, template.name, scope, variables);
          if (output.length <= maxOutput) return output;
          throw new TemplateError(template.name, 0, "the rendered text is larger than 8 MiB");
        } catch (thrown) {
          if (!(thrown instanceof TemplateError)) throw thrown;
          if (thrown.wanted !== undefined) {
            await answer(thrown, thrown.wanted, scope, answers);
            continue;
          }
          await collect(files, thrown.missing);
          if (files.tried.size === known) throw thrown;
        }
      }
    },
  };
}

/** What was looked for, and what was found. */
interface Files {
  templates: Map<string, string>;
  absent: Set<string>;
  tried: Set<string>;
}

/** Calls the host, and keeps what it answers. @throws TemplateError when a template calls it too often */
async function answer(
  error: TemplateError,
  call: HostCall,
  { host }: Scope,
  answers: Answers,
): Promise<void> {
  if (host === undefined) throw error;
  if (answers.size >= maxCalls) {
    throw new TemplateError(
      error.file,
      error.line,
      `more than ${maxCalls} calls of the host in one template`,
      {
        cause: error,
      },
    );
  }
  try {
    answers.set(keyOfCall(call), { value: await host.call(call) });
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    answers.set(keyOfCall(call), { problem: thrown.message });
  }
}

/** Template names quoted in a text. Computed names are found when the engine reports them as missing. */
function literalNames(text: string): string[] {
  const statements = text.matchAll(
    /\{%[-+]?\s*(?:include|import|import_yaml|import_json|import_text|from|extends)\s([^%]*)%\}/g,
  );
  return [...statements].flatMap(([, rest = ""]) =>
    [...rest.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, double, single]) => double ?? single ?? ""),
  );
}
