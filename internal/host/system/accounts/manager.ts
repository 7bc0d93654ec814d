import { quote } from "../../../base/cut.ts";
import type { Gecos } from "./users.ts";

/** The attributes of a new user; the host chooses absent ones. */
export interface NewUser {
  name: string;
  uid?: number;
  /** Id or name of the primary group; a group with the name of the user when absent. */
  gid?: number | string;
  /** See `formatGecos`. */
  gecos?: string;
  home?: string;
  shell?: string;
  system?: boolean;
  /** Whether to create the home directory. */
  createhome: boolean;
}

/** The changes of a user. */
export interface UserChange {
  uid?: number;
  gid?: number | string;
  /** See `formatGecos`. */
  gecos?: string;
  /** Changes only the entry; the directory is not moved. */
  home?: string;
  shell?: string;
}

/**
 * The programs that manage the users and groups of a host. All methods throw a SvcError with the error
 * output.
 */
export interface AccountManager {
  /** `shadow` or `busybox`. */
  readonly name: string;
  addUser(user: NewUser): Promise<void>;
  changeUser(name: string, change: UserChange): Promise<void>;
  /** @param hash as in /etc/shadow; never passed as a program argument */
  setPasswordHash(name: string, hash: string): Promise<void>;
  removeUser(name: string, options: { purge: boolean; force: boolean }): Promise<void>;
  addGroup(name: string, options: { gid?: number; system: boolean }): Promise<void>;
  setGroupId(name: string, gid: number): Promise<void>;
  removeGroup(name: string): Promise<void>;
  addMember(group: string, user: string): Promise<void>;
  removeMember(group: string, user: string): Promise<void>;
}

/**
 * The problem with the name of a user or group, if any (useradd(8), plus dots and capitals, which directory
 * services use). It must not look like an option or break a line of /etc/passwd.
 */
export function refuseAccountName(name: string): string | undefined {
  if (/^[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?$/.test(name)) return undefined;
  return `${quote(name)} is not a valid user or group name`;
}

/**
 * The problem with a part of the field that says who a user is (chfn(1)), if any. A comma would end the part: the next
 * run would find another text there.
 */
export function refuseGecos(argument: keyof Gecos, value: string | undefined): string | undefined {
  if (value?.includes(",") === true && argument !== "other") {
    return `${argument}: must not contain a comma, which ends it in /etc/passwd`;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no program shows them
  if (value !== undefined && /[\u0000-\u001f\u007f]/.test(value) && !/[\n\0]/.test(value)) {
    return `${argument}: must not contain control characters`;
  }
  return refuseField(argument, value);
}

/** The problem with a string for a field of /etc/passwd, if any. */
export function refuseField(argument: string, value: string | undefined): string | undefined {
  if (value === undefined || !/[:\n\0]/.test(value)) return undefined;
  return `${argument}: must not contain a colon or a line break`;
}
