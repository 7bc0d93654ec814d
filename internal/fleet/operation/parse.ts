import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import type { FieldsSchema } from "./operation.ts";

const maxKey = 80;

/** A request as a door received it. */
export interface RawRequest {
  /** The input of the caller, not validated. */
  fields: unknown;
  /** The name of `fields` in messages: `the body`. */
  within?: string;
  /** Fields that the door takes from elsewhere, such as from a path; the caller must not send them again. */
  given?: Readonly<Record<string, string>>;
}

/**
 * Parses a request. Messages name the field and what it must be, and repeat no value.
 *
 * @throws SvcError `bad_request`
 */
export function parse<Schema extends FieldsSchema>(
  schema: Schema,
  { fields, within = "the request", given = {} }: RawRequest,
): v.InferOutput<Schema> {
  if (
    typeof fields !== "object" ||
    fields === null ||
    Array.isArray(fields) ||
    fields instanceof Uint8Array
  ) {
    throw new SvcError("bad_request", `${within} must be an object`);
  }
  const isOpen = (key: string) => !Object.hasOwn(given, key);
  const twice = Object.keys(fields).find((key) => !isOpen(key));
  if (twice !== undefined) throw unknownKey([twice], keysAt(schema, []).filter(isOpen));
  const parsed = v.safeParse(schema, { ...fields, ...given });
  if (parsed.success) return parsed.output;
  const issue = parsed.issues.find(isUnknownKey) ?? parsed.issues[0];
  const path = (issue.path ?? []).map(({ key }) => String(key));
  if (!isUnknownKey(issue)) throw new SvcError("bad_request", describeIssue(path.join("."), issue));
  const known = keysAt(schema, path.slice(0, -1));
  throw unknownKey(path, path.length === 1 ? known.filter(isOpen) : known);
}

type Issue = v.BaseIssue<unknown>;

function isUnknownKey({ type, expected }: Issue): boolean {
  return type === "strict_object" && expected === "never";
}

function unknownKey(path: readonly string[], known: readonly string[]): SvcError {
  const shown = JSON.stringify(path.join(".").slice(0, maxKey));
  const nearest = suggestion((path.at(-1) ?? "").slice(0, maxKey), known);
  const others = known.length === 0 ? "none is known here" : `known are ${known.join(", ")}`;
  return new SvcError("bad_request", `unknown key ${shown}${nearest}; ${others}`);
}

function describeIssue(path: string, issue: Issue): string {
  if (issue.received === "undefined") return `${path} is required`;
  if (issue.message.startsWith("must ")) return `${path} ${issue.message}`;
  return `${path}: expected ${spelled(issue.expected)}`;
}

/** The keys of the object at a path. */
function keysAt(schema: v.GenericSchema, path: readonly string[]): string[] {
  if ("wrapped" in schema) return keysAt(schema.wrapped as v.GenericSchema, path);
  if (schema.type === "variant" && "options" in schema) {
    const forms = schema.options as readonly v.GenericSchema[];
    return [...new Set(forms.flatMap((form) => keysAt(form, path)))];
  }
  const { entries } = schema as Partial<FieldsSchema>;
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(entries ?? {});
  const entry = entries?.[first];
  return entry === undefined ? [] : keysAt(entry as v.GenericSchema, rest);
}

/** The expectation of valibot in plain words: `one of a, b` for `("a" | "b")`. */
function spelled(expected: string | null): string {
  if (expected === null) return "another value";
  const choice = /^\((".*")\)$/.exec(expected)?.[1];
  if (choice !== undefined) return `one of ${choice.replaceAll('"', "").replaceAll(" | ", ", ")}`;
  return expected
    .replace(/^\((.*)\)$/, "$1")
    .replaceAll(" | ", " or ")
    .replaceAll("Object", "object")
    .replaceAll("Array", "list");
}
