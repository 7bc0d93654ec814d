import { readFileSync } from "node:fs";
import { isErrno, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { record } from "../../base/record.ts";
import { bytes, list, part, time } from "../../base/record-kinds.ts";
import { decodeOperator, encodeOperator } from "../../wire/operator-record.ts";
import { openRelease, type SignedRelease } from "../../wire/release.ts";
import { type SeenRecords, withRecords } from "./standing.ts";

/** A release that this peel took. */
export interface TakenRelease {
  bytes: Uint8Array;
  release: SignedRelease;
  /** When it came first, milliseconds since the Unix epoch. */
  seenAt: number;
}

/** What a peel has of releases. */
export interface Taken {
  /** The newest of each environment last. */
  releases: readonly TakenRelease[];
  records: SeenRecords;
}

const stored = record(
  "list of releases",
  { releases: list(part({ bytes: bytes(), seenAt: ["seen_at", time] })), records: list(bytes()) },
  { version: 1 },
);

/** Reads the file. @throws when it is damaged: what it held is not known, so it does not count as empty */
export function readTaken(path: string): Taken {
  let found: Uint8Array;
  try {
    found = readFileSync(path);
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return { releases: [], records: new Map() };
    throw thrown;
  }
  const { releases, records } = stored.decode(found);
  return {
    releases: releases.map((one) => ({ ...one, release: openRelease(one.bytes) })),
    records: withRecords(new Map(), records.map(decodeOperator)),
  };
}

/** Replaces the file as a whole. @throws SvcError `storage` */
export function writeTaken(path: string, { releases, records }: Taken): void {
  const encoded = stored.encode({
    releases: releases.map(({ bytes, seenAt }) => ({ bytes, seenAt })),
    // The current record of a name comes last: the version before reads the last one of each.
    records: [...records]
      .toSorted(([one, { name }], [other, { name: next }]) => Number(one === name) - Number(other === next))
      .map(([, record]) => encodeOperator(record)),
  });
  writing(path, () => writeFileAtomic(path, encoded, secretMode));
}
