import type { StateFunction } from "./function.ts";

type Load = () => Promise<readonly StateFunction[]>;

/**
 * The state functions of each module. A module is loaded when a state names it: a run that only manages
 * files does not wait for the rest.
 */
const modules: Readonly<Record<string, Load>> = {
  archive: async () => (await import("./functions/archive.ts")).archiveStates,
  cmd: async () => (await import("./functions/cmd.ts")).cmdStates,
  cron: async () => (await import("./functions/cron.ts")).cronStates,
  event: async () => (await import("./functions/event.ts")).eventStates,
  file: async () => (await import("./functions/file/index.ts")).fileStates,
  git: async () => (await import("./functions/git.ts")).gitStates,
  group: async () => (await import("./functions/group.ts")).groupStates,
  host: async () => (await import("./functions/host.ts")).hostStates,
  hostname: async () => (await import("./functions/hostname.ts")).hostnameStates,
  mount: async () => (await import("./functions/mount.ts")).mountStates,
  pkg: async () => (await import("./functions/pkg.ts")).pkgStates,
  service: async () => (await import("./functions/service.ts")).serviceStates,
  ssh_auth: async () => (await import("./functions/ssh-auth.ts")).sshAuthStates,
  sysctl: async () => (await import("./functions/sysctl.ts")).sysctlStates,
  systemd: async () => (await import("./functions/systemd.ts")).systemdStates,
  test: async () => (await import("./functions/test.ts")).testStates,
  timezone: async () => (await import("./functions/timezone.ts")).timezoneStates,
  user: async () => (await import("./functions/user.ts")).userStates,
};

/** Where the compiler finds state functions. */
export interface StateRegistry {
  /** @returns nothing when there is no such module */
  functionsOf(module: string): Promise<readonly StateFunction[]>;
  /** Every function, for messages and lists. */
  all(): Promise<readonly StateFunction[]>;
}

export const stateRegistry: StateRegistry = {
  functionsOf: async (module) =>
    (Object.hasOwn(modules, module) ? await modules[module]?.() : undefined) ?? [],
  async all() {
    return (await Promise.all(Object.values(modules).map((load) => load()))).flat();
  },
};
