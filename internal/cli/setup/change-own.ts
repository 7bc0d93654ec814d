import { statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/file.ts";
import { lockFile } from "../../base/files/lock-file.ts";
import { writing } from "../../base/files/new-files.ts";
import { loadAuthority } from "../../identity/ca/mod.ts";
import { type AddOptions, fileAt, giveTo, type OwnHost, readOwnHost } from "./add-hosts.ts";
import { filesOfHost } from "./host-files.ts";

/** Another command needs it for less than a second. */
const lockMs = 5_000;
const checkMs = 100;
/** The last one says that the others are written. */
const changed = ["bus/nats-server.key", "bus/nats-server.crt", "master.yaml", "bus/nats-server.conf"];

/**
 * Gives the own host its place in the cluster of these hosts: certificate, configuration of the master, and then that
 * of the bus. They count from the next start of the master on.
 *
 * @returns whether anything changed
 * @throws SvcError `conflict` while another command keeps the directory
 */
export function joinOwn({ own, hosts, ...options }: AddOptions): Promise<boolean> {
  return changeOwn(own, options, (now) => {
    const all = [...new Set([...now.hosts, ...hosts])];
    return now.clustered && all.length === now.hosts.length ? undefined : { hosts: all };
  });
}

/**
 * Has the own host forget a host that left the cluster: its routes, the URLs of both doors, and the name in its
 * certificate. It counts from the next start of the master on.
 *
 * @returns whether anything changed
 * @throws SvcError `conflict` while another command keeps the directory
 */
export function dropHost({
  own,
  host,
  ...options
}: Omit<AddOptions, "hosts"> & { host: string }): Promise<boolean> {
  return changeOwn(own, options, ({ hosts }) =>
    hosts.includes(host) ? { hosts: hosts.filter((one) => one !== host), gone: [host] } : undefined,
  );
}

async function changeOwn(
  own: OwnHost,
  { clock, random }: Pick<AddOptions, "clock" | "random">,
  plan: (now: OwnHost) => { hosts: string[]; gone?: string[] } | undefined,
): Promise<boolean> {
  const lock = await lockOwn(own.dir, clock);
  try {
    const now = readOwnHost(own.dir, own.routePort);
    const planned = plan(now);
    if (planned === undefined) return false;
    const authority = await loadAuthority(join(own.dir, "auth/ca"));
    const files = changed.map((name) => fileAt(join(own.dir, name)));
    const options = { ...now, ...planned, from: own.dir, dir: own.dir, authority, clock, random };
    const owner = statSync(own.dir);
    for (const { path, data, mode } of await filesOfHost(files, options)) {
      writing(path, () => writeFileAtomic(path, data, mode));
      giveTo(path, owner);
    }
    return true;
  } finally {
    lock.release();
  }
}

/**
 * Locks the directory of a fleet for the moment in which a command changes it.
 *
 * @throws SvcError `conflict` while another command keeps the lock
 */
export async function lockOwn(dir: string, clock: Clock): Promise<{ release(): void }> {
  for (let waitedMs = 0; waitedMs < lockMs; waitedMs += checkMs) {
    const lock = lockFile(join(dir, ".cluster.lock"));
    if (lock !== undefined) return lock;
    await sleep(clock, checkMs);
  }
  throw new SvcError(
    "conflict",
    `another svc cluster command changes ${dir} at this moment: try again when it has ended`,
  );
}
