import type { StateFunction } from "../function/mod.ts";

type Load = () => Promise<readonly StateFunction[]>;

/**
 * The state functions of each module. A module is loaded when a state uses it, so that a run that only
 * manages files does not load the rest.
 */
const modules: Readonly<Record<string, Load>> = {
  alias: async () => (await import("./system/alias.ts")).aliasStates,
  alternatives: async () => (await import("./packages/alternatives.ts")).alternativesStates,
  archive: async () => (await import("./archive/archive.ts")).archiveStates,
  cmd: async () => (await import("./command/cmd.ts")).cmdStates,
  cron: async () => (await import("./system/cron.ts")).cronStates,
  debconf: async () => (await import("./packages/debconf.ts")).debconfStates,
  docker_container: async () => (await import("./docker/container.ts")).containerStates,
  docker_image: async () => (await import("./docker/image.ts")).imageStates,
  docker_network: async () => (await import("./docker/network.ts")).networkStates,
  docker_volume: async () => (await import("./docker/network.ts")).volumeStates,
  environ: async () => (await import("./system/environ.ts")).environStates,
  event: async () => (await import("./command/event.ts")).eventStates,
  file: async () => (await import("./file/index.ts")).fileStates,
  firewalld: async () => (await import("./firewall/firewalld.ts")).firewalldStates,
  gem: async () => (await import("./packages/gem.ts")).gemStates,
  git: async () => [
    ...(await import("./git/git.ts")).gitStates,
    ...(await import("./git/git-config.ts")).gitConfigStates,
  ],
  group: async () => (await import("./accounts/group.ts")).groupStates,
  host: async () => (await import("./system/host.ts")).hostStates,
  hostname: async () => (await import("./system/hostname.ts")).hostnameStates,
  ini: async () => (await import("./ini/ini.ts")).iniStates,
  iptables: async () => (await import("./firewall/iptables.ts")).iptablesStates,
  kmod: async () => (await import("./system/kmod.ts")).kmodStates,
  locale: async () => (await import("./system/locale.ts")).localeStates,
  lvm: async () => (await import("./storage/lvm.ts")).lvmStates,
  module: async () => (await import("./command/module.ts")).moduleStates,
  mount: async () => (await import("./storage/mount.ts")).mountStates,
  mysql_database: async () => (await import("./mysql/database.ts")).databaseStates,
  mysql_grants: async () => (await import("./mysql/grants.ts")).grantStates,
  mysql_user: async () => (await import("./mysql/user.ts")).userStates,
  nftables: async () => (await import("./firewall/nftables.ts")).nftablesStates,
  npm: async () => (await import("./packages/npm.ts")).npmStates,
  pip: async () => (await import("./packages/pip.ts")).pipStates,
  pkg: async () => (await import("./packages/pkg.ts")).pkgStates,
  pkgrepo: async () => (await import("./packages/pkgrepo.ts")).pkgrepoStates,
  postgres_database: async () => (await import("./postgres/database.ts")).databaseStates,
  postgres_extension: async () => (await import("./postgres/content.ts")).extensionStates,
  postgres_group: async () => (await import("./postgres/role.ts")).groupStates,
  postgres_privileges: async () => (await import("./postgres/privileges.ts")).privilegeStates,
  postgres_schema: async () => (await import("./postgres/content.ts")).schemaStates,
  postgres_tablespace: async () => (await import("./postgres/tablespace.ts")).tablespaceStates,
  postgres_user: async () => (await import("./postgres/role.ts")).userStates,
  selinux: async () => (await import("./system/selinux.ts")).selinuxStates,
  service: async () => (await import("./system/service.ts")).serviceStates,
  ssh_auth: async () => (await import("./accounts/ssh-auth.ts")).sshAuthStates,
  ssh_known_hosts: async () => (await import("./accounts/ssh-known-hosts.ts")).sshKnownHostsStates,
  sysctl: async () => (await import("./system/sysctl.ts")).sysctlStates,
  systemd: async () => (await import("./system/systemd.ts")).systemdStates,
  test: async () => (await import("./test.ts")).testStates,
  timezone: async () => (await import("./system/timezone.ts")).timezoneStates,
  ufw: async () => (await import("./firewall/ufw.ts")).ufwStates,
  user: async () => (await import("./accounts/user.ts")).userStates,
  virt: async () => (await import("./system/virt.ts")).virtStates,
};

/** The lookup of state functions for the compiler. */
export interface StateRegistry {
  /** @returns an empty result when the module does not exist */
  functionsOf(module: string): Promise<readonly StateFunction[]>;
  /** All functions, for messages and lists. */
  all(): Promise<readonly StateFunction[]>;
}

export const stateRegistry: StateRegistry = {
  functionsOf: async (module) =>
    (Object.hasOwn(modules, module) ? await modules[module]?.() : undefined) ?? [],
  async all() {
    return (await Promise.all(Object.values(modules).map((load) => load()))).flat();
  },
};
