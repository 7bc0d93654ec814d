/** How many items are requested together by their ids. */
const together = 100;
/** The address of a request and its other headers have at most 16 KiB. */
const maxText = 6_000;

/**
 * Reads items by their ids, in as few requests as their addresses allow.
 *
 * @param between characters that stand between two ids in an address
 */
export async function inParts<Item>(
  ids: readonly string[],
  between: number,
  read: (part: string[]) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const found: Item[] = [];
  for (const part of partsOf(ids, between)) found.push(...(await read(part)));
  return found;
}

function* partsOf(ids: readonly string[], between: number): Generator<string[]> {
  let part: string[] = [];
  let text = 0;
  for (const id of ids) {
    text += id.length + between;
    if (part.length === together || text > maxText) {
      yield part;
      part = [];
      text = id.length + between;
    }
    part.push(id);
  }
  if (part.length > 0) yield part;
}

/**
 * A list of peels as a target, and within another one.
 *
 * @param ids encoded
 * @param target an expression; empty for all peels
 */
export function targetOf(ids: readonly string[], target: string): string {
  const these = `L@${ids.join(",")}`;
  return target === "" ? these : `${these} and (${target})`;
}

/** A comma between two ids of a target has three characters in an address. */
export const commaLength = 3;
