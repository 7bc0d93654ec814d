import { SvcError } from "../../base/errors.ts";
import type { Content } from "../../wire/content.ts";
import { localCommit } from "../../wire/content-words.ts";
import type { Published } from "./catalog.ts";

/**
 * What a published snapshot is in requests, records and answers.
 *
 * @throws SvcError `unavailable` for one that the version before published: its files have no digest
 */
export function contentOf(environment: string, { snapshot, origin }: Published): Content {
  if (snapshot === "") {
    throw new SvcError(
      "unavailable",
      `the state files of ${environment} have no digest yet: the master that publishes them has an earlier version, upgrade it`,
    );
  }
  const { directory, commits } = origin;
  const [only, ...others] = commits;
  if (only !== undefined && others.length === 0 && !directory) {
    return { environment, commit: only.commit, snapshot };
  }
  return { environment, commit: localCommit, snapshot, sources: commits };
}
