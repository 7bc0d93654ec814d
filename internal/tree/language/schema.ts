import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { type ArgSpec, expectation } from "../../host/modules/mod.ts";
import type { StateFunction } from "../function/mod.ts";
import { commonNames } from "./common-args.ts";

type Schema = { readonly [key: string]: Plain };

const scalar: Schema = { type: ["string", "number", "boolean"] };
/** Where a template writes the value, an editor sees its tags. */
const tag: Schema = { type: "string", pattern: "\\{[{%]" };

/**
 * The JSON Schema of state files, for the language servers of editors: draft 7, which they all know.
 *
 * @param functions all state functions
 */
export function stateSchema(functions: readonly StateFunction[]): Schema {
  const sorted = [...functions].sort((one, other) => (one.name < other.name ? -1 : 1));
  const bodies = sorted.map((each) => [each.name, bodyOf(each)] as const);
  const modules = Map.groupBy(sorted, ({ name }) => name.slice(0, name.indexOf(".")));
  const ofModules = [...modules].map(([module, of]) => [module, moduleOf(of)] as const);
  const names = { type: "string", enum: sorted.map(({ name }) => name) };
  const declaration = {
    anyOf: [
      {
        type: "object",
        properties: Object.fromEntries([
          ...bodies.map(([name]) => [name, { $ref: `#/definitions/${name}` }] as const),
          ...ofModules,
        ]),
        additionalProperties: false,
      },
      { type: "array", items: { anyOf: [names, { type: "object" }] } },
      names,
    ],
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "State file of svc",
    type: ["object", "null"],
    properties: {
      include: { description: "State files that come first.", type: "array", items: { type: "string" } },
      extend: {
        description: "Changes of declarations of included files.",
        type: "object",
        additionalProperties: { type: "object" },
      },
      exclude: { description: "What is left out of included files.", type: "array" },
    },
    additionalProperties: { $ref: "#/definitions/declaration" },
    definitions: { declaration, ...Object.fromEntries(bodies) },
  };
}

/** `file: [managed, …]`: the function is a word in the list. */
function moduleOf(functions: readonly StateFunction[]): Schema {
  const words = functions.map(({ name }) => name.slice(name.indexOf(".") + 1));
  const word = { type: "string", enum: words };
  return { anyOf: [word, { type: "array", items: { anyOf: [word, { type: "object" }] } }] };
}

/** What is below the name of a function: a list of arguments. */
function bodyOf({ doc, args }: StateFunction): Schema {
  const own = Object.entries(args).map(([name, spec]) => [name, argumentOf(spec)] as const);
  const common = commonNames
    .filter((name) => !Object.hasOwn(args, name))
    .map((name) => [name, { description: "Every state takes it: see the page on states." }] as const);
  const items = {
    type: "object",
    properties: Object.fromEntries([...own, ...common]),
    additionalProperties: false,
  };
  return { description: doc, type: ["array", "null"], items };
}

function argumentOf(spec: ArgSpec): Schema {
  return { description: `${spec.doc} Must be ${expectation(spec)}.`, ...schemaOf(spec) };
}

function schemaOf(spec: ArgSpec): Schema {
  const bounds = {
    ...defined({ minimum: spec.min, maximum: spec.max }),
  };
  switch (spec.type) {
    case "string":
    case "duration":
    case "path":
      if (spec.values !== undefined) return { anyOf: [{ enum: [...spec.values] }, tag] };
      return scalar;
    case "mode":
      return { type: ["string", "integer"] };
    case "integer":
      return { anyOf: [{ type: "integer", ...bounds }, tag] };
    case "number":
      return { anyOf: [{ type: "number", ...bounds }, tag] };
    case "boolean":
      return { anyOf: [{ type: "boolean" }, tag] };
    case "strings":
      return { anyOf: [scalar, { type: "array", items: scalar }] };
    case "map":
      return { anyOf: [{ type: "object" }, { type: "array", items: { type: "object" } }, tag] };
    case "any":
      return {};
  }
}
