import type { Plain } from "../../base/msgpack.ts";
import { createSandbox, type Environment } from "./environment.ts";
import { explain, readFailure, TemplateError } from "./error.ts";
import { filters } from "./filters.ts";
import { globalsOf, type Scope } from "./lookups.ts";
import { rewriteMapGet } from "./map-get.ts";
import { expressionSpan, pythonFilter, pythonText, rewriteOutputs } from "./python-text.ts";
import { unknownCall } from "./unknown-call.ts";

/** Template names for which the engine would enable escaping, as for web pages. */
const escaped = /\.(?:html?|xml|json5?|js|ya?ml)(?:\.(?:j2|jinja2?))?$/;
const unescaped = "{% autoescape false %}";
/** Maximum depth of nested includes when locating an error. */
const maxDepth = 16;

/**
 * The engine with what it was given last. It has no way to ask for a file: all templates are added before.
 * The environment and its functions keep each other alive for ever, so one engine renders many trees.
 */
export class Engine {
  private readonly sandbox = createSandbox();
  private environment: Environment | undefined;
  private tree: object | undefined;
  private scope: Scope | undefined;
  /** By name: the text as written, and as the engine has it. */
  private readonly added = new Map<string, { source: string; text: string }>();
  /** The error of one of our functions; an exception would leave the engine in an undefined state. */
  private failed: { name: string; thrown: unknown } | undefined;

  /**
   * @param tree the tree of the templates; templates of another tree are never included
   * @throws TemplateError
   */
  render(
    tree: object,
    templates: ReadonlyMap<string, string>,
    name: string,
    scope: Scope,
    variables: Readonly<Record<string, Plain>>,
  ): string {
    this.sandbox.enter();
    this.failed = undefined;
    let output: string;
    try {
      const environment = this.prepare(tree, scope);
      for (const [each, text] of templates) this.add(environment, each, text);
      output = environment.renderTemplate(name, variables);
    } catch (thrown) {
      throw this.errorOf(thrown, name, variables, 0);
    }
    if (this.failed !== undefined) throw this.failureOf(this.failed, name);
    return output;
  }

  private prepare(tree: object, scope: Scope): Environment {
    if (this.environment === undefined) {
      this.environment = this.sandbox.createEnvironment();
      this.scope = undefined;
      for (const [name, filter] of Object.entries(filters)) {
        this.environment.addFilter(name, this.guarded(name, filter));
      }
      const hold = (text: unknown, isData: unknown) =>
        this.scope?.hold?.(String(text), isData === true) ?? String(text);
      this.environment.addFilter(pythonFilter, this.guarded(pythonFilter, pythonText));
      this.environment.addFilter("svc_hold", this.guarded("svc_hold", hold));
    }
    if (this.tree !== tree) {
      this.environment.clearTemplates();
      this.added.clear();
      this.tree = tree;
    }
    if (this.scope !== scope) {
      for (const [name, value] of Object.entries(globalsOf(scope))) this.environment.addGlobal(name, value);
      this.scope = scope;
    }
    return this.environment;
  }

  private add(environment: Environment, name: string, source: string): void {
    if (this.added.get(name)?.source === source) return;
    const text = rewriteOutputs(rewriteMapGet(source));
    this.added.set(name, { source, text });
    environment.addTemplate(name, escaped.test(name) ? `${unescaped}${text}{% endautoescape %}` : text);
  }

  private guarded(name: string, run: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
    return (...args) => {
      try {
        return run(...args);
      } catch (thrown) {
        this.failed ??= { name, thrown };
        return undefined;
      }
    };
  }

  private errorOf(
    thrown: unknown,
    name: string,
    variables: Readonly<Record<string, Plain>>,
    depth: number,
  ): TemplateError {
    if (!(thrown instanceof Error) || thrown.constructor !== Error) return this.trapped(name, thrown);
    const failure = readFailure(thrown.message, name);
    const [, included] = /^error in "(.*)"$/.exec(failure.detail) ?? [];
    // The engine hides the reason; rendering the included template alone most likely fails in the same way.
    if (failure.kind === "could not render include" && included !== undefined && depth < maxDepth) {
      try {
        this.environment?.renderTemplate(included, variables);
      } catch (inner) {
        return this.errorOf(inner, included, variables, depth + 1);
      }
    }
    const unknown = unknownCall(failure, this.added.get(failure.file)?.source ?? "");
    if (unknown !== undefined) {
      this.added.delete(name);
      return new TemplateError(failure.file, unknown.line, unknown.reason);
    }
    const line = this.added.get(failure.file)?.text.split("\n")[failure.line - 1] ?? "";
    const shift = failure.line === 1 && escaped.test(failure.file) ? unescaped.length : 0;
    const span = failure.span && expressionSpan(line, { ...failure.span, from: failure.span.from - shift });
    this.added.delete(name);
    return new TemplateError(failure.file, failure.line, explain({ ...failure, span }, line), {
      missing: missingNames(failure),
    });
  }

  private trapped(name: string, cause: unknown): TemplateError {
    if (this.environment !== undefined) this.sandbox.abandon(this.environment);
    this.environment = undefined;
    this.tree = undefined;
    return new TemplateError(name, 0, "the template exceeds the memory limit", { cause });
  }

  /**
   * The engine does not report the place of the call: the first line with the function's name is the best
   * guess.
   */
  private failureOf({ name, thrown }: { name: string; thrown: unknown }, template: string): TemplateError {
    const lines = this.added.get(template)?.source.split("\n") ?? [];
    const line = lines.findIndex((text) => text.includes(name)) + 1;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new TemplateError(template, line, `${name}: ${reason}`);
  }
}

/** Templates that the engine was asked to include and does not have. */
function missingNames({ kind, detail }: { kind: string; detail: string }): string[] {
  if (kind !== "template not found") return [];
  return [...detail.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([quoted]) => String(JSON.parse(quoted)));
}
