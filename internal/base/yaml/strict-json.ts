import { SvcError } from "../errors.ts";

const maxDepth = 64;
/** Strings, and what gives a text its structure; the rest of a valid text does not matter here. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/**
 * Reads JSON that someone else wrote. What `JSON.parse` accepts has the same value here, except for two forms that
 * readers do not agree about: a key twice in one object, and more than 64 levels.
 *
 * @throws SvcError `bad_request`, whose message repeats nothing of the text
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SvcError("bad_request", "not valid JSON");
  }
  checkStructure(text);
  return value;
}

/** @param text valid JSON */
function checkStructure(text: string): void {
  /** The keys of the objects around this place; `undefined` for a list. */
  const around: (Set<string> | undefined)[] = [];
  let keyFollows = false;
  for (const [found] of text.matchAll(token)) {
    if (found === "{" || found === "[") {
      if (around.length === maxDepth) {
        throw new SvcError("bad_request", `nested more than ${maxDepth} levels deep`);
      }
      around.push(found === "{" ? new Set() : undefined);
      keyFollows = found === "{";
    } else if (found === "}" || found === "]") {
      around.pop();
      keyFollows = false;
    } else if (found === ",") {
      keyFollows = around.at(-1) !== undefined;
    } else if (keyFollows) {
      keyFollows = false;
      const keys = around.at(-1);
      // Two spellings of one key, with and without an escape, are the same key.
      const key = String(JSON.parse(found));
      if (keys?.has(key)) throw new SvcError("bad_request", "ambiguous: a key appears twice in one object");
      keys?.add(key);
    }
  }
}
