import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import type { Items } from "./report.ts";

const maxHosts = 100_000;
const otherKeys = [
  ["minions_pre", "wait for a decision"],
  ["minions_denied", "were denied"],
  ["minions_rejected", "were rejected"],
] as const;

/**
 * The minions whose keys a Salt master accepted, sorted. Their keys are not read: peels have keys of another kind.
 *
 * @param pki directory of the keys
 */
export function readExpectedHosts(pki: string, items: Items): string[] {
  const hosts = namesIn(join(pki, "minions"));
  if (hosts === undefined) {
    items.add("hosts", { file: pki }, "there are no accepted keys", "Check pki_dir, or the option --root");
    return [];
  }
  for (const [directory, what] of otherKeys) {
    const count = namesIn(join(pki, directory))?.length ?? 0;
    if (count > 0) {
      items.add(
        "hosts",
        { file: join(pki, directory) },
        `${count} minions ${what} and are not expected`,
        "Add the names that you want to expected-hosts",
      );
    }
  }
  if (hosts.length > maxHosts)
    throw new SvcError("bad_request", `${pki}: more than ${maxHosts} accepted keys`);
  return hosts.sort().filter((name) => {
    try {
      encodePeelId(name);
      return true;
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      items.add(
        "hosts",
        { file: join(pki, "minions", name) },
        `not a peel ID: ${thrown.message}`,
        "Give this host an id that is a host name",
      );
      return false;
    }
  });
}

function namesIn(directory: string): string[] | undefined {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return undefined;
    throw new SvcError("bad_request", `cannot read ${directory}: ${reasonOf(thrown)}`, { cause: thrown });
  }
}
