import * as v from "valibot";
import { type RecordOf, record } from "../base/record.ts";
import { list } from "../base/record-kinds.ts";
import { described, integer } from "../base/schema.ts";
import { type Content, shownSnapshot, snapshotDigest } from "./content.ts";

/** Peels that are named; the others are counted. */
const maxNamed = 100;

const fields = {
  commit: v.string(),
  snapshot: snapshotDigest,
  /** Encoded ids, sorted. */
  peels: list(v.string()),
} as const;

/**
 * What some peels of a job run in place of its content: they obey operators only, and other files are in force than
 * those that were released.
 */
export type ReleasedContent = RecordOf<typeof fields>;

/** How it is stored. */
export const releasedContent = record("released content", fields, { isOpen: true });

/** The files of a request for peels that run released files alone, without these peels. */
export const shownReleasedFiles = v.object({
  commit: described(
    v.string(),
    "Commit of the released files; `local` where no single commit describes them",
  ),
  snapshot: shownSnapshot,
});
/** What people see of such files. */
export type ShownReleasedFiles = v.InferOutput<typeof shownReleasedFiles>;

/** The schema of what people see of it. */
export const shownReleased = v.object({
  ...shownReleasedFiles.entries,
  peels: described(v.array(v.string()), `Encoded ids of these peels, sorted, at most ${maxNamed}`),
  peel_count: v.exactOptional(described(integer, "Number of these peels, where not all are named")),
});
export type ShownReleased = v.InferOutput<typeof shownReleased>;

/** Released files as people see them: over the bus the digest is bytes. */
export const showReleasedFiles = ({
  commit,
  snapshot,
}: Pick<Content, "commit" | "snapshot">): ShownReleasedFiles => ({
  commit,
  snapshot: snapshotDigest.write(snapshot),
});

/** The same with the peels that run them. */
export function showReleased({ peels, ...files }: ReleasedContent): ShownReleased {
  const count = peels.length > maxNamed ? { peel_count: peels.length } : {};
  return { ...showReleasedFiles(files), peels: peels.slice(0, maxNamed), ...count };
}
