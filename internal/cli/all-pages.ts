/**
 * Reads a list page after page, to its end.
 *
 * @param read asks for the page that begins at a cursor; the first one without
 * @param key the field of the answer that has the list
 * @throws SvcError what `read` throws
 */
export async function allPages<Key extends string, Item>(
  read: (after: {
    cursor?: string;
  }) => Promise<{ [K in Key]: readonly Item[] } & { next?: string | undefined }>,
  key: Key,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let after: { cursor?: string } = {}; ; ) {
    const answer = await read(after);
    for (const item of answer[key]) found.push(item);
    if (answer.next === undefined) return found;
    after = { cursor: answer.next };
  }
}
