/** What a new user is to be; what is absent is up to the host. */
export interface NewUser {
  name: string;
  uid?: number;
  /** Number or name of the primary group; a group of the user's own name when absent. */
  gid?: number | string;
  fullname?: string;
  home?: string;
  shell?: string;
  system?: boolean;
  /** Whether the home directory is made. */
  createhome: boolean;
}

/** What becomes different about a user. */
export interface UserChange {
  uid?: number;
  gid?: number | string;
  fullname?: string;
  /** The entry alone: the directory stays where it is. */
  home?: string;
  shell?: string;
}

/** The programs that keep the users and groups of a host. All throw a SvcError with what the program said. */
export interface AccountManager {
  /** `shadow` or `busybox`. */
  readonly name: string;
  addUser(user: NewUser): Promise<void>;
  changeUser(name: string, change: UserChange): Promise<void>;
  /** @param hash as in /etc/shadow; it never shows among the arguments of a program */
  setPasswordHash(name: string, hash: string): Promise<void>;
  removeUser(name: string, options: { purge: boolean; force: boolean }): Promise<void>;
  addGroup(name: string, options: { gid?: number; system: boolean }): Promise<void>;
  setGroupId(name: string, gid: number): Promise<void>;
  removeGroup(name: string): Promise<void>;
  addMember(group: string, user: string): Promise<void>;
  removeMember(group: string, user: string): Promise<void>;
}

/**
 * What is wrong with the name of a user or group (useradd(8), with dots and capitals that directory
 * services use): it must not look like an option, nor break a line of /etc/passwd.
 */
export function refuseAccountName(name: string): string | undefined {
  if (/^[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?$/.test(name)) return undefined;
  return `${JSON.stringify(name.slice(0, 80))} is no name of a user or group`;
}

/** What is wrong with a text that goes into a field of /etc/passwd. */
export function refuseField(argument: string, value: string | undefined): string | undefined {
  if (value === undefined || !/[:\n\0]/.test(value)) return undefined;
  return `${argument}: a colon or a line end cannot be in it`;
}
