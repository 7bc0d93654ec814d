import { readFileSync } from "node:fs";
import { describeError, SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { fileVersion } from "../../base/files/file-version.ts";
import type { Log } from "../../base/log.ts";
import { type Groups, readGroups } from "../../tree/targets/mod.ts";

/** The current node groups of this master's file. */
export interface NodeGroups {
  /** @throws SvcError `unavailable` when the file has not been readable since this master started */
  current(): Groups;
}

/**
 * Follows a file of node groups: checks it on every request, and reads it again when its time, size or inode
 * changed. A missing file means no groups. An invalid file is logged once, and the previous groups stay in
 * force.
 */
export function followNodeGroups(path: string, log: Log): NodeGroups {
  let seen: string | undefined;
  let groups: Groups = new Map();
  let problem: string | undefined;
  const refresh = () => {
    const version = fileVersion(path);
    if (version === seen) return;
    const first = seen === undefined;
    seen = version;
    try {
      groups = version === "" ? new Map() : readGroups(readFileSync(path, "utf8"), path);
      problem = undefined;
      if (!first || groups.size > 0) log.info("node groups read", { file: path, groups: groups.size });
    } catch (thrown) {
      const reason = thrown instanceof SvcError ? describeError(thrown) : reasonOf(thrown);
      log.error("node groups cannot be read", { file: path, reason, kept: groups.size });
      if (first) problem = reason;
    }
  };
  refresh();
  return {
    current() {
      refresh();
      if (problem !== undefined) throw new SvcError("unavailable", `node groups cannot be read: ${problem}`);
      return groups;
    },
  };
}
