import * as v from "valibot";
import { mapOf, type Problem, refuse, type Schema, text } from "../../../base/document/schemas.ts";
import { plainOf } from "../../../base/document/written.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { opening, placeholderProblem, placeholdersOf } from "./placeholder.ts";

/** A string that no event can change. */
export function literal(max: number) {
  return v.pipe(
    text(max),
    v.check(
      (written) => !written.includes(opening),
      "placeholders are not allowed here: the sender of the event would control the value",
    ),
  );
}

/** A value whose strings may contain placeholders. Its keys must not. */
export function template(): Schema<Plain> {
  return v.pipe(
    v.unknown(),
    refuse(templateProblem),
    v.transform((written) => plainOf(written) as Plain),
  );
}

export function templateMap(): Schema<Record<string, Plain>> {
  return v.pipe(
    mapOf(v.unknown()),
    refuse((written) => templateProblem(written)),
    v.transform((written) => plainOf(written) as Record<string, Plain>),
  );
}

/** Placeholders of one value: they bound what an event can make of it. */
const maxPlaceholders = 64;

function templateProblem(written: unknown): Problem | undefined {
  let count = 0;
  const check = (part: unknown, at: readonly (string | number)[]): Problem | undefined => {
    if (typeof part === "string") {
      count += placeholdersOf(part).length;
      const message =
        count > maxPlaceholders ? `more than ${maxPlaceholders} placeholders` : placeholderProblem(part);
      return message === undefined ? undefined : { message, at };
    }
    if (Array.isArray(part)) return firstOf(part.entries());
    return part instanceof Map ? firstOf(part) : undefined;

    function firstOf(entries: Iterable<[string | number, unknown]>): Problem | undefined {
      for (const [key, inner] of entries) {
        const inside = [...at, key];
        if (typeof key === "string" && key.includes(opening)) {
          return { message: "placeholders are not allowed in keys", at: inside, isKey: true };
        }
        const problem = check(inner, inside);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
  };
  return check(written, []);
}
