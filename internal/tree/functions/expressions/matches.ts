import type { Translated } from "./python-expression.ts";

/** A match: where it is, and its groups, the first one for the whole. */
export interface Match {
  from: number;
  to: number;
  groups: (string | undefined)[];
}

/**
 * Finds all matches as Python does: behind an empty one it looks for one that is not empty at the same place.
 *
 * @throws SyntaxError for an expression that the runtime refuses
 */
export function compileMatches({
  source,
  advancing,
  flags,
}: Pick<Translated, "source" | "advancing" | "flags">): (text: string) => Generator<Match> {
  const search = new RegExp(source, `g${flags}`);
  const here = advancing === undefined ? undefined : new RegExp(advancing, `y${flags}`);
  return function* (text) {
    for (let [at, isAfterEmpty] = [0, false]; at <= text.length; ) {
      const found =
        (isAfterEmpty ? atPlace(here, text, at) : undefined) ?? nextFrom(search, text, at, isAfterEmpty);
      if (found === undefined) return;
      yield found;
      at = found.to;
      isAfterEmpty = found.to === found.from;
    }
  };
}

function atPlace(here: RegExp | undefined, text: string, at: number): Match | undefined {
  if (here === undefined) return undefined;
  here.lastIndex = at;
  const [whole, , ...groups] = here.exec(text) ?? [];
  return whole === undefined ? undefined : { from: at, to: at + whole.length, groups: [whole, ...groups] };
}

function nextFrom(search: RegExp, text: string, at: number, isAfterEmpty: boolean): Match | undefined {
  // A character beyond the basic plane has two places.
  const step = isAfterEmpty ? ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) : 0;
  if (at + step > text.length) return undefined;
  search.lastIndex = at + step;
  const found = search.exec(text);
  return found === null
    ? undefined
    : { from: found.index, to: found.index + found[0].length, groups: [...found] };
}
