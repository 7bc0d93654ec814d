import type { Plain } from "../../base/msgpack.ts";

/** Parts of this length are found wherever they stand, as messages cut and quote what they repeat. */
const partLength = 5;
const word = /[^\s"'`:,.;()[\]{}]+/g;

/**
 * Hides the texts of settings in reasons.
 *
 * @returns hides them in a reason; what the file says itself stays, as it is known to readers of the file
 */
export function hideSettings(settings: Plain): (reason: string, source: string) => string {
  const parts = new Set<string>();
  const words = new Set<string>();
  for (const text of textsIn(settings)) {
    const lower = text.toLowerCase();
    if (lower.length < partLength) words.add(lower);
    for (let at = 0; at + partLength <= lower.length; at++) parts.add(lower.slice(at, at + partLength));
  }
  return (reason, source) => {
    const known = source.toLowerCase();
    const lower = reason.toLowerCase();
    // Without this, letters that change their length would move what is hidden.
    if (lower.length !== reason.length) return "the reason cannot be shown, as it may repeat a setting";
    const hidden = new Uint8Array(reason.length);
    for (let at = 0; at + partLength <= lower.length; at++) {
      const part = lower.slice(at, at + partLength);
      if (parts.has(part) && !known.includes(part)) hidden.fill(1, at, at + partLength);
    }
    for (const { 0: each, index } of lower.matchAll(word)) {
      if (words.has(each) && !known.includes(each)) hidden.fill(1, index, index + each.length);
    }
    let shown = "";
    for (const [at, isHidden] of hidden.entries()) {
      if (isHidden === 0) shown += reason[at];
      else if (at === 0 || hidden[at - 1] === 0) shown += "…";
    }
    return shown;
  };
}

/** The texts and numbers of settings; their names are in the files that use them. */
function* textsIn(value: Plain): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number" || typeof value === "bigint") yield String(value);
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (value !== null && typeof value === "object" && !(value instanceof Uint8Array)) {
    for (const inner of Object.values(value)) yield* textsIn(inner);
  }
}
