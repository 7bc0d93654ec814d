/** `enr-` and a KSUID: its first characters are the time, and ids of one second differ only after them. */
const form = /^[a-z]{3}-[0-9A-Za-z]{27}$/;
const prefixLength = 4;
/** Characters behind the prefix of its kind. Of these, two and a half are random. */
const minShown = 8;

/**
 * The beginnings of ids that tell each from the others, such as `enr-3MRxAb12`. A command takes them in place of the
 * ids, as long as no other record begins so.
 *
 * @param ids as they are listed together; what is not such an id stays as it is
 * @returns by id
 */
export function shortIds(ids: Iterable<string>): ReadonlyMap<string, string> {
  const sorted = [...new Set(ids)].sort();
  return new Map(
    sorted.map((id, i) => {
      const min = prefixLength + minShown;
      const shared = Math.max(sharedLength(id, sorted[i - 1]), sharedLength(id, sorted[i + 1]));
      return [id, form.test(id) ? id.slice(0, Math.max(min, shared + 1)) : id];
    }),
  );
}

/** How many characters two texts have in common from the beginning on. */
function sharedLength(one: string, other = ""): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}
