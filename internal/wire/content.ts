import * as v from "valibot";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, list, optional, part } from "../base/record-kinds.ts";
import { described, shownDigest } from "../base/schema.ts";

// A name such as `base` can mean other files a moment later, so what runs files of the tree keeps what it meant
// when it was accepted.

// Fields that are not known are ignored.
const isOpen = true;
const snapshotBytes = 32;

/** The digest of a snapshot: text in the code and in JSON, bytes in messages and records. */
export const snapshotDigest = {
  read: v.pipe(
    bytes(snapshotBytes),
    v.transform((found) => Buffer.from(found).toString("hex")),
  ),
  write: (hex: string): Uint8Array => Buffer.from(hex, "hex"),
  shown: shownDigest("Digest of the files"),
};

/** The schema of what people see of it. */
export const shownSnapshot = snapshotDigest.shown;

const fields = {
  /** The name that was requested. */
  environment: described(v.string(), "Environment of the state files"),
  /** The Git commit when exactly one repository gave the files and no directory did, else `local`. */
  commit: described(v.string(), "Commit of the files; `local` where no single commit describes them"),
  snapshot: snapshotDigest,
  /** The commits of the repositories, in the order in which they overlay each other, for `local` files. */
  sources: optional(
    list(
      part(
        {
          remote: described(v.string(), "URL of the repository, without user and password"),
          ref: described(v.string(), "Such as `refs/heads/main`"),
          commit: v.string(),
        },
        { isOpen },
      ),
    ),
  ),
} as const;

/** The files that a request runs. It is part of records and commands. */
export type Content = RecordOf<typeof fields>;

/** How content is stored and sent. */
export const content = record("content", fields, { isOpen });

/** The schema of what people see of it. */
export const shownContent = v.object(content.shownEntries);

/** Content as people see it. */
export type ShownContent = v.InferOutput<typeof shownContent>;
