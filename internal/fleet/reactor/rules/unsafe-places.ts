import { atLine } from "../../../base/place.ts";
import type { OpenPlace, Rule } from "./rule.ts";

/** What a rule with `unsafe: true` allows, place by place; without such places, that it needs no such key. */
export function unsafePlaces({ name, unsafe, file, at }: Rule): readonly OpenPlace[] {
  if (unsafe === undefined) return [];
  if (unsafe.length > 0) {
    return unsafe.map(({ line, text }) => ({ line, text: `${text} (allowed by unsafe: true)` }));
  }
  const reason = `rule ${name}: unsafe: true is not needed: remove it`;
  return [{ line: at.line, text: `${atLine(file, at.line)}: ${reason}` }];
}
