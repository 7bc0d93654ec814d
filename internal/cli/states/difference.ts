import { type Contents, snapshotOf } from "../../tree/files/mod.ts";
import type { KeptRelease } from "./kept-release.ts";

/** Files that are named; the others are counted. */
const maxNamed = 40;

type Rows = KeptRelease["files"];

/** What is kept of files. */
export const rowsOf = (files: Contents): Rows =>
  [...files].map(([path, { executable, size, digest }]) => [path, executable, size, digest]);

/** The digest of files that are kept. */
export const snapshotOfRows = (rows: Rows): string =>
  snapshotOf(
    rows.map(([path, executable, size, digest]) => [
      path,
      { executable, size, digest, read: () => Promise.reject(new Error("only its digest is known")) },
    ]),
  );

/** How files differ, in lines for people: `+` for new ones, `~` for changed ones, `-` for those that are gone. */
export function describeDifference(before: Rows, after: Rows): string[] {
  const [old, now] = [byPath(before), byPath(after)];
  const added = after.flatMap(([path]) => (old.has(path) ? [] : [path]));
  const gone = before.flatMap(([path]) => (now.has(path) ? [] : [path]));
  const changed = after.flatMap(([path]) => {
    const known = old.get(path);
    return known === undefined || known === now.get(path) ? [] : [path];
  });
  const lines = [
    ...added.map((path) => ({ path, line: `+ ${path}` })),
    ...changed.map((path) => ({ path, line: `~ ${path}` })),
    ...gone.map((path) => ({ path, line: `- ${path}` })),
  ].toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const more = lines.length - maxNamed;
  return [
    ...lines.slice(0, maxNamed).map(({ line }) => line),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${added.length} added, ${changed.length} changed, ${gone.length} removed, ${after.length} in all`,
  ];
}

const byPath = (rows: Rows): ReadonlyMap<string, string> =>
  new Map(rows.map(([path, executable, , digest]) => [path, `${executable} ${digest}`]));
