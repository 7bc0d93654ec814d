import { toJsonSchema } from "@valibot/to-json-schema";
import type { Schema } from "./schemas.ts";

/**
 * The JSON Schema of a document, for the language servers of editors: draft 7, which they all know. What only a
 * function can judge, such as the form of a target, is not in it.
 */
export function jsonSchemaOf(title: string, schema: Schema<unknown>): object {
  const { $schema, ...converted } = toJsonSchema(schema, {
    target: "draft-07",
    errorMode: "ignore",
    typeMode: "input",
  });
  return { $schema, title, ...converted };
}
