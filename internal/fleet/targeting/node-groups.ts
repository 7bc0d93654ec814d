import { readFileSync, statSync } from "node:fs";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/file.ts";
import type { Log } from "../../base/log.ts";
import { parseYaml } from "../../base/yaml.ts";
import { type Groups, readGroups } from "../../tree/targets/groups.ts";

/** The node groups of this master's file, as they are at this moment. */
export interface NodeGroups {
  /** @throws SvcError `unavailable` when the file was never readable since this master started */
  current(): Groups;
}

/**
 * Follows a file of node groups: it is read again when its time, size or inode changed, and looked at
 * whenever groups are asked for. No file means no groups. A file with an error is told once in the log,
 * and the groups that were last read stay.
 */
export function followNodeGroups(path: string, log: Log): NodeGroups {
  let seen: string | undefined;
  let groups: Groups = new Map();
  let problem: string | undefined;
  const refresh = () => {
    const version = versionOf(path);
    if (version === seen) return;
    const first = seen === undefined;
    seen = version;
    try {
      groups = version === "" ? new Map() : readGroups(parseYaml(readFileSync(path, "utf8"), path), path);
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

/** What changes when the file does; empty when there is none. */
function versionOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (cause) {
    if (isErrno(cause, "ENOENT") || isErrno(cause, "ENOTDIR")) return "";
    return `unreadable: ${reasonOf(cause)}`;
  }
}
