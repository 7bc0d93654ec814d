import { decodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { releaseOperations } from "../../fleet/releases/mod.ts";
import { overlay } from "../../tree/files/mod.ts";
import { findWorkTree, readCheckout } from "../../tree/git/mod.ts";
import { hexOf } from "../../wire/content-words.ts";
import { isSignedRelease, openRelease } from "../../wire/release.ts";
import type { AnswerTo } from "../request.ts";
import { describeDifference, rowsOf, snapshotOfRows } from "./difference.ts";
import type { KeptRelease } from "./kept-release.ts";

/** Of a checkout; masters have a bound of their own. */
const maxBytes = 1024 ** 3;

/** What masters know of an environment. */
export interface Standing {
  fleet: string;
  found: AnswerTo<typeof releaseOperations.listReleases>["environments"][number];
}

/** Files that may be released. */
export interface Proposal {
  snapshot: string;
  /** Where they come from, for people. */
  from: string;
  rows?: KeptRelease["files"];
  /** What differs from the newest release, in lines. */
  describe(standing: Standing, kept: KeptRelease | undefined): Promise<string[]>;
}

/** Files of the person, and what is odd about them. */
export interface OwnFiles extends Proposal {
  warnings: readonly string[];
}

/** The files of the person's own checkouts. @throws SvcError as `readCheckout` */
export async function ownFiles({
  trees,
  commit,
  clock,
}: {
  trees: readonly string[];
  commit: string | undefined;
  clock: Clock;
}): Promise<OwnFiles> {
  const { signal } = new AbortController();
  const directories = trees.length > 0 ? trees : [await findWorkTree(process.cwd(), { clock, signal })];
  if (commit !== undefined && directories.length > 1) {
    throw new SvcError(
      "usage",
      "--commit names a commit of one checkout: check out the commits, and leave it out",
    );
  }
  const read = async (at: string | undefined) => {
    const found = [];
    for (const directory of directories)
      found.push(await readCheckout(directory, { commit: at, maxBytes, clock, signal }));
    return found;
  };
  const checkouts = await read(commit);
  const warnings = checkouts.flatMap((one) => one.warnings);
  const rows = rowsOf(overlay(checkouts.map(({ files }) => files)));
  /** Those of the newest release: kept here, or those of its commit in the only checkout. */
  const rowsBefore = async ({ found: { newest } }: Standing, kept: KeptRelease | undefined) => {
    const snapshot = newest && hexOf(newest.snapshot);
    if (snapshot === kept?.snapshot && snapshotOfRows(kept?.files ?? []) === snapshot) return kept?.files;
    if (newest?.commit === undefined || directories.length > 1) return undefined;
    const [earlier] = await read(newest.commit).catch(() => []);
    const known = earlier && rowsOf(earlier.files);
    return known !== undefined && snapshotOfRows(known) === snapshot ? known : undefined;
  };
  return {
    ...{ snapshot: snapshotOfRows(rows), from: directories.join(", "), rows, warnings },
    async describe(standing, kept) {
      const { newest } = standing.found;
      if (newest === undefined) return [...warnings, `the first release: ${rows.length} files`];
      const before = await rowsBefore(standing, kept);
      if (before === undefined) {
        return [
          ...warnings,
          `${rows.length} files; those of release ${newest.version} are not known here, so they are not compared`,
        ];
      }
      return [
        ...warnings,
        `compared with release ${newest.version} by ${newest.operator}:`,
        ...describeDifference(before, rows),
      ];
    },
  };
}

/** The newest files of a master: what waits for a release, or what is in force. @throws SvcError `not_found` */
export function publishedFiles({ found: { environment, content: inForce, candidate } }: Standing): Proposal {
  const content = candidate?.content ?? inForce;
  if (content === undefined) throw new SvcError("not_found", `masters publish no files of ${environment}`);
  return {
    ...{ snapshot: hexOf(content.snapshot), from: "a master" },
    describe: async () => [
      `nobody compared these files with a checkout: a master says that they are commit ${content.commit}`,
    ],
  };
}

/** What was released before the newest release. @throws SvcError `not_found`, `forbidden` */
export function releasedBefore({ fleet, found: { environment, before, newest } }: Standing): Proposal {
  const bytes = before && decodeBase64(before.release);
  if (bytes === undefined)
    throw new SvcError("not_found", `${environment} has no release before the newest one`);
  const release = openRelease(bytes);
  if (release.fleet !== fleet || release.environment !== environment || !isSignedRelease(release)) {
    throw new SvcError(
      "forbidden",
      `the release before that a master names is not a signed release of ${environment}`,
    );
  }
  const { version, operator, key, releasedAt, snapshot } = release;
  return {
    ...{ snapshot, from: `release ${version}` },
    describe: async () => [
      `release ${version} in place of release ${newest?.version ?? "none"}: signed by ${operator} with ${key} at ${rfc3339(releasedAt)}`,
    ],
  };
}
