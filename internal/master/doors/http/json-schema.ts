import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

/** A JSON Schema of the draft 2020-12, the dialect of OpenAPI 3.1. One with a title is a component. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly optional?: never;
}

/** The schema of a property that may be absent. */
interface Optional {
  readonly optional: JsonSchema;
}

/** One schema for each field: an optional field of the type, and no other, is `optional` here as well. */
type Properties<T> = {
  readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? Optional : JsonSchema;
};

/** The schema of an object by the type it has in the code, which names every field and whether it may be absent. */
export function objectOf<T>(title: string, properties: Properties<T>): JsonSchema {
  const entries = Object.entries<JsonSchema | Optional>(properties);
  return {
    title,
    type: "object",
    properties: Object.fromEntries(entries.map(([name, schema]) => [name, schema.optional ?? schema])),
    required: entries.flatMap(([name, schema]) => (schema.optional === undefined ? [name] : [])),
  };
}

/**
 * The schema of what a valibot object schema accepts.
 *
 * @param more what it cannot say of a field, such as its description; these keywords come on top
 */
export function schemaOf(
  title: string,
  schema: GenericSchema,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const { $schema: _, ...converted } = toJsonSchema(schema, { errorMode: "ignore", typeMode: "input" });
  const properties = Object.entries(converted.properties ?? {}).map(([name, property]) => [
    name,
    { ...(typeof property === "object" ? property : {}), ...more[name] },
  ]);
  return { title, ...converted, properties: Object.fromEntries(properties) };
}

export const optional = (schema: JsonSchema): Optional => ({ optional: schema });
export const text = (description?: string): JsonSchema => described({ type: "string" }, description);
export const integer = (description?: string): JsonSchema => described({ type: "integer" }, description);
export const time = (description?: string): JsonSchema =>
  described({ type: "string", format: "date-time" }, description);
export const oneOf = (values: readonly string[], description?: string): JsonSchema =>
  described({ type: "string", enum: [...values] }, description);
export const listOf = (items: JsonSchema, description?: string): JsonSchema =>
  described({ type: "array", items }, description);
/** An object with keys of its own. */
export const mapOf = (values: JsonSchema, description?: string): JsonSchema =>
  described({ type: "object", additionalProperties: values }, description);
/** Any value JSON can hold. */
export const anything = (description?: string): JsonSchema => described({}, description);

function described(schema: JsonSchema, description: string | undefined): JsonSchema {
  return description === undefined ? schema : { ...schema, description };
}
