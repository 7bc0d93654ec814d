import type { Plain } from "../../base/msgpack.ts";
import type { YamlDialect } from "../../base/yaml/yaml.ts";
import { type Budget, createEnvironment, type Filter, JinjaError, Taint } from "../jinja/mod.ts";
import { Fault, Unknown } from "../jinja/values/mod.ts";
import { yamlFilter } from "./data-filters.ts";
import { TemplateError } from "./error.ts";
import { loadedVariables } from "./file-variables.ts";
import { filters, tests } from "./filters.ts";
import { globalsOf } from "./globals.ts";
import { type Answers, answerOf, type HostCall, HostCallWanted } from "./host-call.ts";
import { readData } from "./read-data.ts";
import { treePath } from "./salt/data.ts";
import type { SaltTools } from "./salt/function.ts";
import type { Scope } from "./scope.ts";

/** What a rendering has loaded, and what the host answered. */
export interface Loaded {
  /** The text of each template by its path. */
  readonly templates: ReadonlyMap<string, string>;
  /** Paths that do not exist. */
  readonly absent: ReadonlySet<string>;
  readonly answers: Answers;
  /** The paths of the tree; `undefined` where they are not known. */
  readonly paths?: (() => readonly string[]) | undefined;
  /** Shared by the attempts of one rendering. */
  readonly budget: Budget;
}

/** Renders templates that are loaded, and nothing else: it cannot ask for a file. */
export interface Engine {
  /** @throws TemplateError, which may name what is not loaded, or the call that it waits for */
  render(loaded: Loaded, name: string, scope: Scope, variables: Readonly<Record<string, Plain>>): string;
}

/** @param isChecked whether the engine is for checks alone */
export function createEngine(isChecked = false): Engine {
  const environment = createEnvironment({
    filters,
    tests,
    parseData: (format, text) => readData(format, text, {}),
    isChecked,
  });
  return {
    render(loaded, name, scope, variables) {
      const dialect: YamlDialect = { anyKeys: true, oldWords: scope.compat === "salt" };
      const parse: SaltTools["parse"] = (format, text) => {
        if (scope.guard?.isHeld(text) === true) throw new Fault("facts are in the text: use the fact itself");
        return readData(format, text, dialect);
      };
      const readFile = (path: string): string | undefined => {
        const text = loaded.templates.get(path);
        if (text !== undefined || loaded.absent.has(path)) return text;
        throw new Fault(`the file ${path} is not loaded`, { missing: [path] });
      };
      const taint = new Taint(scope.guard, scope.watch && (() => scope.watch?.chose()));
      const undefinedNames: Parameters<NonNullable<Scope["onUndefined"]>>[] = [];
      const render = (
        each: string,
        text: (path: string) => string | undefined,
        own: typeof global,
      ): string => {
        loaded.budget.again();
        const { check } = scope;
        const rendered = environment.render({
          ...{ name: each, text: (path) => text(treePath(path)), global: own, budget: loaded.budget },
          isAbsent: (path) => loaded.absent.has(treePath(path)),
          ownVariables: (path, requested) =>
            scope.compat === "salt" || check !== undefined
              ? Object.entries(loadedVariables(treePath(path), requested))
              : [],
          filters: {
            which: whichOn(scope, loaded.answers),
            ...(wrapsYaml(scope, name) ? { yaml: yamlFilter(true) } : {}),
          },
          isFixed: scope.isOfSettings === true,
          taint,
          isLenient: scope.compat === "salt" || check !== undefined,
          world: check?.world,
          // What a function renders is written elsewhere.
          marks: each === name ? (check?.marks ?? scope.marks) : undefined,
          onUndefined: (missing, { template, line }) =>
            undefinedNames.push([missing, { file: template, line }]),
          parseData: parse,
        });
        // As in Salt, the line end that Jinja takes from the end of a template comes back.
        return /[\r\n]$/.test(text(treePath(each)) ?? "") ? `${rendered}\n` : rendered;
      };
      const global: Parameters<typeof environment.render>[0]["global"] = globalsOf(scope, variables, {
        ...{ answers: loaded.answers, taint, parse, readFile },
        paths() {
          if (loaded.paths === undefined) throw new Fault("the files of the tree are not known here");
          return loaded.paths();
        },
        render(source, more) {
          const path = "path" in source ? treePath(source.path) : "a text";
          const text = "path" in source ? readFile(path) : source.text;
          if (text === undefined) throw new Fault(`the file ${path} does not exist`);
          return render(
            path,
            (wanted) => (wanted === path ? text : loaded.templates.get(wanted)),
            (word, budget) => more.get(word) ?? global(word, budget),
          );
        },
      });
      try {
        const text = render(name, (path) => loaded.templates.get(path), global);
        for (const each of undefinedNames) scope.onUndefined?.(...each);
        return text;
      } catch (thrown) {
        if (!(thrown instanceof JinjaError)) throw thrown;
        throw errorOf(thrown);
      }
    },
  };
}

/**
 * Whether YAML is wrapped as Salt does it, so that a file has the bytes that Salt gave it. State and settings files are
 * read as data, where the second line of a value would need the indentation of its place.
 */
function wrapsYaml({ compat }: Scope, name: string): boolean {
  return compat === "salt" && !name.endsWith(".sls");
}

/** The filter that finds a program on the host. */
function whichOn({ host, check }: Scope, answers: Answers): Filter {
  return (value) => {
    if (check !== undefined) return new Unknown(check.world);
    const refused = host === undefined ? "needs a host, and there is none here" : host.refusal("cmd.which");
    if (refused !== undefined) throw new Fault(`which ${refused}`);
    return answerOf("cmd.which", { positional: [value], named: new Map() }, answers);
  };
}

function errorOf(error: JinjaError): TemplateError {
  const { template, line, column, message, missing, cause } = error;
  const wanted: HostCall | undefined = cause instanceof HostCallWanted ? cause.call : undefined;
  return new TemplateError(template, line, message, {
    cause: error,
    column,
    missing: missing.map(treePath),
    wanted,
  });
}
