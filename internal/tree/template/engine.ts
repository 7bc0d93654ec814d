import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, plainValue } from "../../base/yaml.ts";
import {
  createEnvironment,
  type Environment,
  Fault,
  type Filter,
  fromPlain,
  JinjaError,
  take,
  textOf,
  type Value,
} from "../jinja/mod.ts";
import { TemplateError } from "./error.ts";
import { filters } from "./filters.ts";
import { globalsOf, type Scope } from "./lookups.ts";

/** Renders templates that are loaded, and nothing else: it cannot ask for a file. */
export interface Engine {
  /**
   * @param templates the text of each template by its name
   * @throws TemplateError
   */
  render(
    templates: ReadonlyMap<string, string>,
    name: string,
    scope: Scope,
    variables: Readonly<Record<string, Plain>>,
  ): string;
}

export function createEngine(): Engine {
  const environment: Environment = createEnvironment({ filters, parseData });
  return {
    render(templates, name, scope, variables) {
      try {
        return environment.render({
          name,
          text: (each) => templates.get(pathOf(each)),
          global: globalsOf(scope, variables),
          filters: { svc_hold: holdIn(scope) },
          isFixed: scope.hold !== undefined,
          parseData: (format, text) => {
            if (scope.isHeld?.(text)) throw new Fault("facts are in the text: use the fact itself");
            return parseData(format, text);
          },
        });
      } catch (thrown) {
        if (!(thrown instanceof JinjaError)) throw thrown;
        const { template, line, message, missing } = thrown;
        throw new TemplateError(template, line, message, { cause: thrown, missing: missing.map(pathOf) });
      }
    },
  };
}

/** `salt://x` and `svc://x` are the path x of the tree. */
export const pathOf = (name: string): string => name.replace(/^(?:salt|svc):\/\//, "");

function holdIn({ hold }: Scope): Filter {
  return (value, args) => {
    const [isData = false] = take("svc_hold", args, ["is_data?"]);
    const text = textOf(value);
    return hold?.(text, isData === true) ?? text;
  };
}

/** @throws Fault that says what is wrong with the text */
function parseData(format: "yaml" | "json" | "text", text: string): Value {
  if (format === "text") return text;
  try {
    return fromPlain((format === "json" ? JSON.parse(text) : plainValue(parseYaml(text, "data"))) as Plain);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new Fault("the text is not JSON");
    if (thrown instanceof SvcError) throw new Fault(`the text is not YAML: ${thrown.message}`);
    throw thrown;
  }
}
