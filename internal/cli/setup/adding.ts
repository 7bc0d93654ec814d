import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { lockOwn } from "./change-own.ts";

/** Hidden: it belongs to this host only, and no directory of another one gets it. */
const name = ".cluster-add.json";
const schema = v.object({ hosts: v.array(v.string()) });

/**
 * Refuses to add hosts from a directory while others are added from it: hosts of a fleet of one host that do not know
 * each other would form two clusters.
 *
 * @param options.dir of the fleet on this host
 * @param options.added hosts that the cluster does not have yet
 * @param options.members hosts that it has
 * @throws SvcError `conflict`
 */
export function assertNoOther({ dir, added, members }: Addition): void {
  const begun = readBegun(dir).filter((host) => !members.includes(host));
  if (begun.length === 0 || sameHosts(begun, added)) return;
  throw new SvcError(
    "conflict",
    `svc cluster add ${begun.join(",")} has begun in ${dir} and is not done: run that again, and this one when it has ended. If those hosts will not come, stop their masters, remove their directories, and then ${join(dir, name)}`,
  );
}

/** What is added from which directory. */
interface Addition {
  dir: string;
  added: readonly string[];
  members: readonly string[];
}

/** Records which hosts are added from a directory, so that no others are until it ended. @throws as `assertNoOther` */
export async function beginAdding(addition: Addition, clock: Clock): Promise<void> {
  const { dir, added } = addition;
  const lock = await lockOwn(dir, clock);
  try {
    assertNoOther(addition);
    const path = join(dir, name);
    writing(path, () => writeFileAtomic(path, `${JSON.stringify({ hosts: added })}\n`, secretMode));
  } finally {
    lock.release();
  }
}

/** Records that all of them have come. */
export function endAdding(dir: string): void {
  const path = join(dir, name);
  writing(path, () => rmSync(path, { force: true }));
}

function readBegun(dir: string): string[] {
  const path = join(dir, name);
  const text = readTextIfPresent(path);
  if (text === undefined) return [];
  try {
    return v.parse(schema, JSON.parse(text)).hosts;
  } catch (cause) {
    throw new SvcError("bad_request", `${path} cannot be read: remove it if no svc cluster add is running`, {
      cause,
    });
  }
}

const sameHosts = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join() === other.toSorted().join();
