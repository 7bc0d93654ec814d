/** What decides who can change the entries of a directory. */
export interface LevelStats {
  uid: number;
  mode: number;
}

const othersWrite = 0o022;
const sticky = 0o1000;

/**
 * Whether only trusted users can change what a name in a directory refers to: nobody else owns the directory,
 * and nobody else can write in it, or it is sticky and the entry belongs to a trusted user.
 *
 * The write bit of the group counts for any group, because it is also the mask of an access control list.
 *
 * @param isTrusted whether a user is as powerful as this process
 */
export function isFixedEntry(
  directory: LevelStats,
  entry: Pick<LevelStats, "uid">,
  isTrusted: (uid: number) => boolean,
): boolean {
  if (!isTrusted(directory.uid)) return false;
  if ((directory.mode & othersWrite) === 0) return true;
  return (directory.mode & sticky) !== 0 && isTrusted(entry.uid);
}
