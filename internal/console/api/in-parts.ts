/** How many items are requested together by their ids. */
const together = 100;
/** The address of a request and its other headers have at most 16 KiB. */
const maxText = 6_000;
/** Bytes of a target. */
const maxTarget = 4_096;

/**
 * Reads items by their ids, in as few requests as their addresses allow.
 *
 * @param between characters that stand between two ids in an address
 * @param max characters of the ids of one request, with what stands between them
 */
export async function inParts<Item>(
  ids: readonly string[],
  between: number,
  read: (part: string[]) => Promise<readonly Item[]>,
  max = maxText,
): Promise<Item[]> {
  const found: Item[] = [];
  for (const part of partsOf(ids, between, max)) found.push(...(await read(part)));
  return found;
}

function* partsOf(ids: readonly string[], between: number, max: number): Generator<string[]> {
  let part: string[] = [];
  let text = 0;
  for (const id of ids) {
    text += id.length + between;
    if (part.length === together || (text > max && part.length > 0)) {
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

/** What the ids of a target may take, next to the expression within which they are: a master reads 4,096 bytes. */
export const idsWithin = (target: string): number =>
  maxTarget - new TextEncoder().encode(targetOf([], target)).length;

/** A comma between two ids of a target has three characters in an address. */
export const commaLength = 3;
