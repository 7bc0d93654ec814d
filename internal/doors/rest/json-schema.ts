import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

/** A JSON Schema of the draft 2020-12, the dialect of OpenAPI 3.1. One with a title is a component. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The schema of what a valibot schema accepts, with its titles and descriptions. */
export function schemaOf(schema: GenericSchema): JsonSchema {
  const { $schema: _, ...converted } = toJsonSchema(schema, { errorMode: "ignore", typeMode: "input" });
  return converted;
}

const peelName = { type: "string", description: "Peel ID with dots" };

/** The schema of an answer in which peels have their names with dots next to their encoded ids. */
export function withPeelNames(schema: JsonSchema): JsonSchema {
  const below = Object.entries(schema).map(([keyword, value]) => [keyword, namedBelow(value)] as const);
  const copy: JsonSchema = Object.fromEntries(below);
  const { properties, required } = copy as { properties?: Record<string, unknown>; required?: string[] };
  if (properties?.peel_id === undefined || properties.peel !== undefined) return copy;
  return {
    ...copy,
    properties: { peel: peelName, ...properties },
    ...(required?.includes("peel_id") === true ? { required: ["peel", ...required] } : {}),
  };
}

function namedBelow(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(namedBelow);
  return typeof value === "object" && value !== null ? withPeelNames(value as JsonSchema) : value;
}
