import { statSync } from "node:fs";
import type { Clock } from "../clock.ts";
import { quote } from "../cut.ts";
import { defined } from "../defined.ts";
import { SvcError } from "../errors.ts";
import { readTextIfPresent } from "../files/file.ts";
import { cleanEnvironment, programPath } from "./environment.ts";
import { type Account, runProcess } from "./process.ts";

/** Account names as programs create them. None looks like a flag. A number counts as a name. */
const keyForm = /^[A-Za-z0-9_.][A-Za-z0-9_.@\\-]{0,255}\$?$/;
const directoryTimeoutMs = 10_000;

/** What a lookup in a directory service needs. It may take long. */
export interface LookupDeps {
  clock: Clock;
  signal?: AbortSignal;
  /** Keeps the local files as they were read: a run of states asks a thousand times for the same few names. */
  cache?: Map<string, unknown>;
}

/**
 * Finds the account with this name or number in `/etc/passwd`, or in the databases that `getent` reads.
 *
 * @throws SvcError `not_found`
 */
export async function findAccount(key: string, deps: LookupDeps): Promise<Account> {
  const account = await findAccountIfPresent(key, deps);
  if (account === undefined) throw new SvcError("not_found", `this host has no user ${quote(key)}`);
  return account;
}

/** Same as `findAccount`, but returns `undefined` when the account does not exist. */
export async function findAccountIfPresent(key: string, deps: LookupDeps): Promise<Account | undefined> {
  const fields = await readFields("passwd", key, deps);
  if (fields === undefined) return undefined;
  const [name = "", , uid, gid, , home, shell] = fields;
  return { name, uid: Number(uid), gid: Number(gid), home: home || "/", shell: shell || "/bin/sh" };
}

/** Finds the group with this name or number. @throws SvcError `not_found` */
export async function findGroup(key: string, deps: LookupDeps): Promise<{ name: string; gid: number }> {
  const group = await findGroupIfPresent(key, deps);
  if (group === undefined) throw new SvcError("not_found", `this host has no group ${quote(key)}`);
  return group;
}

/** Same as `findGroup`, but returns `undefined` when the group does not exist. */
export async function findGroupIfPresent(
  key: string,
  deps: LookupDeps,
): Promise<{ name: string; gid: number } | undefined> {
  const [name, , gid] = (await readFields("group", key, deps)) ?? [];
  return name === undefined || gid === undefined ? undefined : { name, gid: Number(gid) };
}

type Database = "passwd" | "group";

/** Returns the fields of one entry. Reads the local file first: it is fast, and holds most accounts. */
async function readFields(
  database: Database,
  key: string,
  { clock, signal, cache }: LookupDeps,
): Promise<string[] | undefined> {
  if (!keyForm.test(key)) return undefined;
  const local = localEntries(database, cache).get(key);
  if (local !== undefined) return local;
  if (Bun.which("getent", { PATH: programPath }) === null) return undefined;
  const { code, stdout } = await runProcess({
    argv: ["getent", database, key],
    env: cleanEnvironment(undefined),
    cwd: "/",
    timeoutMs: directoryTimeoutMs,
    clock,
    ...defined({ signal }),
  });
  return code === 0 ? entriesOf(stdout.text).get(key) : undefined;
}

type Entries = ReadonlyMap<string, string[]>;

/** A local file as it was read last. */
interface Kept {
  stamp: string;
  entries: Entries;
}

function localEntries(database: Database, cache: LookupDeps["cache"]): Entries {
  const path = `/etc/${database}`;
  const stats = statSync(path, { throwIfNoEntry: false });
  // Programs that change the file replace it.
  const stamp = stats === undefined ? "" : [stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(":");
  const before = cache?.get(path) as Kept | undefined;
  if (before?.stamp === stamp) return before.entries;
  const entries = entriesOf(readTextIfPresent(path) ?? "");
  cache?.set(path, { stamp, entries } satisfies Kept);
  return entries;
}

/** Indexes the entries by name, and by number where no name is the same. The first entry wins. */
function entriesOf(text: string): Entries {
  const entries = text
    .split("\n")
    .map((line) => line.split(":"))
    .filter(([, , number]) => /^\d+$/.test(number ?? ""))
    .reverse();
  const byNumber = entries.map((entry) => [entry[2] ?? "", entry] as const);
  return new Map([...byNumber, ...entries.map((entry) => [entry[0] ?? "", entry] as const)]);
}
