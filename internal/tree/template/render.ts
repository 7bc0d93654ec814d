import type { Plain } from "../../base/msgpack.ts";
import { createEngine, type Engine, pathOf } from "./engine.ts";
import { TemplateError } from "./error.ts";
import type { Scope } from "./lookups.ts";

export interface Template {
  /** Its path in the tree, for messages. */
  name: string;
  text: string;
}

/** Renders templates of any tree; what a process renders with the same one shares an engine. */
export interface Templates {
  /**
   * @param read the text of a file that a template includes, imports or extends; `undefined` when there is none
   */
  renderer(read: Read): Renderer;
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
const markup = /\{[{%#]/;

export function createTemplates(): Templates {
  const engine = createEngine();
  return { renderer: (read) => createRenderer(read, engine) };
}

function createRenderer(read: Read, engine: Engine): Renderer {
  /** Adds the named templates, and what these name themselves. */
  const collect = async (into: Map<string, string>, tried: Set<string>, names: readonly string[]) => {
    for (const name of names) {
      if (tried.has(name) || tried.size >= maxIncluded) continue;
      tried.add(name);
      const text = await read(pathOf(name));
      if (text === undefined) continue;
      await collect(into, tried, literalNames(text));
      into.set(pathOf(name), text);
    }
  };

  return {
    async render(template, scope, variables = {}) {
      if (!markup.test(template.text)) return template.text;
      const templates = new Map<string, string>();
      const tried = new Set<string>();
      await collect(templates, tried, literalNames(template.text));
      for (;;) {
        const known = templates.size;
        try {
          const all = new Map([...templates, [pathOf(template.name), template.text]]);
          const output = engine.render(all, template.name, scope, variables);
          if (output.length <= maxOutput) return output;
          throw new TemplateError(template.name, 0, "the rendered text is larger than 8 MiB");
        } catch (thrown) {
          if (!(thrown instanceof TemplateError)) throw thrown;
          await collect(templates, tried, thrown.missing);
          if (templates.size === known) throw thrown;
        }
      }
    },
  };
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
