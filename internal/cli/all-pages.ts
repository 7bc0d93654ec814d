/**
 * Reads a list of peels page after page, to its end.
 *
 * @param read asks for the page that begins at a cursor; the first one without
 * @throws SvcError what `read` throws
 */
export async function allPages<Item>(
  read: (after: { cursor?: string }) => Promise<{ peels: readonly Item[]; next?: string | undefined }>,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let after: { cursor?: string } = {}; ; ) {
    const { peels, next } = await read(after);
    for (const peel of peels) found.push(peel);
    if (next === undefined) return found;
    after = { cursor: next };
  }
}
