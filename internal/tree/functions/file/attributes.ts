import { closeSync, constants, type Stats } from "node:fs";
import { basename } from "node:path";
import { type OpenedDirectory, openParent } from "../../../base/files/opened-directory.ts";
import { setOwnerAndMode } from "../../../base/files/owner-and-mode.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { findAccountIfPresent, findGroupIfPresent, type LookupDeps } from "../../../base/process/account.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";
import { touching } from "./inspect.ts";

/** Desired owner, group and permission bits; `undefined` leaves an attribute unchanged. */
export interface Attributes {
  uid: number | undefined;
  gid: number | undefined;
  mode: number | undefined;
  /** Users and groups that do not exist yet; an earlier state may create them. */
  missing: readonly string[];
}

export const noAttributes: Attributes = { uid: undefined, gid: undefined, mode: undefined, missing: [] };

/** Arguments that most file states share. */
export const ownerArgs = {
  user: arg.string("Name or uid of the owner; unchanged by default."),
  group: arg.string("Name or gid of the group; unchanged by default."),
} as const satisfies Record<string, ArgSpec>;

/** Looks up the ids of a state's `user` and `group`. */
export async function attributesOf(
  { user, group, mode }: { user?: string | undefined; group?: string | undefined; mode?: string | undefined },
  deps: LookupDeps,
): Promise<Attributes> {
  if (user === undefined && group === undefined) {
    return mode === undefined ? noAttributes : { ...noAttributes, mode: modeBits(mode) };
  }
  const [uid, gid] = [
    user === undefined ? undefined : ((await findAccountIfPresent(user, deps))?.uid ?? numberOf(user)),
    group === undefined ? undefined : ((await findGroupIfPresent(group, deps))?.gid ?? numberOf(group)),
  ];
  const missing = [
    ...(user !== undefined && uid === undefined ? [`user ${user}`] : []),
    ...(group !== undefined && gid === undefined ? [`group ${group}`] : []),
  ];
  return { uid, gid, mode: mode === undefined ? undefined : modeBits(mode), missing };
}

/** Parses permission bits from octal digits. */
export function modeBits(mode: string): number {
  return Number.parseInt(mode, 8);
}

/** Formats permission bits as four octal digits. */
export function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** A numeric owner needs no account: files of a container or an archive may belong to unknown ids. */
function numberOf(key: string): number | undefined {
  return /^\d{1,9}$/.test(key) ? Number(key) : undefined;
}

/** Whether the attributes differ from the desired ones. */
export function attributesDiffer(stats: Stats, { uid, gid, mode, missing }: Attributes): boolean {
  return (
    (uid !== undefined && stats.uid !== uid) ||
    (gid !== undefined && stats.gid !== gid) ||
    (mode !== undefined && (stats.mode & 0o7777) !== mode) ||
    missing.length > 0
  );
}

/** The differences, by name: `{mode: {old: "0600", new: "0644"}}`. */
export async function attributeChanges(
  stats: Stats | undefined,
  { uid, gid, mode, missing }: Attributes,
  deps: LookupDeps,
): Promise<{ [name: string]: Plain }> {
  const changes: { [name: string]: Plain } = {};
  if (mode !== undefined && (stats === undefined || (stats.mode & 0o7777) !== mode)) {
    changes.mode = change(stats && modeText(stats.mode), modeText(mode));
  }
  if (uid !== undefined && stats?.uid !== uid) {
    changes.user = change(stats && (await userName(stats.uid, deps)), await userName(uid, deps));
  }
  if (gid !== undefined && stats?.gid !== gid) {
    changes.group = change(stats && (await groupName(stats.gid, deps)), await groupName(gid, deps));
  }
  for (const each of missing) {
    const [what = "", name = ""] = each.split(" ");
    const id = what === "user" ? stats?.uid : stats?.gid;
    const old = id === undefined ? undefined : await (what === "user" ? userName : groupName)(id, deps);
    changes[what] = change(old, name);
  }
  return changes;
}

function change(old: string | undefined, now: string): Plain {
  return old === undefined ? now : { old, new: now };
}

async function userName(uid: number, deps: LookupDeps): Promise<string> {
  return (await findAccountIfPresent(`${uid}`, deps))?.name ?? `${uid}`;
}

async function groupName(gid: number, deps: LookupDeps): Promise<string> {
  return (await findGroupIfPresent(`${gid}`, deps))?.name ?? `${gid}`;
}

/** @throws StateFailure naming a user or group that still does not exist */
export function requireOwner({ missing }: Attributes): void {
  if (missing.length > 0) throw new StateFailure(`this host has no ${missing.join(" and no ")}`);
}

/** The note in a plan about owners that do not exist yet. */
export function missingNote({ missing }: Attributes): string {
  return missing.length === 0 ? "" : `; this host has no ${missing.join(" and no ")} yet`;
}

/**
 * Sets owner and mode of an existing file; the owner first, because changing it clears special bits. Rejects
 * a path that became a symbolic link, and never blocks on opening it.
 */
export function setAttributes(path: string, attributes: Attributes): void {
  requireOwner(attributes);
  touching("change owner or mode of", path, () => {
    using directory = openParent(path);
    setAttributesIn(directory, basename(path), attributes);
  });
}

/** Like `setAttributes`, for an entry of an open directory. */
export function setAttributesIn(
  directory: OpenedDirectory,
  name: string,
  attributes: Omit<Attributes, "missing">,
): void {
  const file = directory.openFile(name, constants.O_RDONLY);
  try {
    setOwnerAndMode(file, attributes);
  } finally {
    closeSync(file);
  }
}

/** Sets the owner of an entry itself, also of a symbolic link. */
export function setLinkOwner(
  directory: OpenedDirectory,
  name: string,
  { uid, gid }: Pick<Attributes, "uid" | "gid">,
): void {
  if (uid === undefined && gid === undefined) return;
  touching("change owner of", `${directory.path}/${name}`, () =>
    directory.changeOwner(name, uid ?? -1, gid ?? -1),
  );
}
