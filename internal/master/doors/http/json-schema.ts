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
