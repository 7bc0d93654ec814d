import type { StateFunction } from "../function/mod.ts";

type Load = () => Promise<readonly StateFunction[]>;

/**
 * The state functions of each module. A module is loaded when a state uses it, so that a run that only
 * manages files does not load the rest.
 */
const modules: Readonly<Record<string, Load>> = {
  alias: async () => (await import("./alias.ts")).aliasStates,
  alternatives: async () => (await import("./alternatives.ts")).alternativesStates,
  archive: async () => (await import("./archive.ts")).archiveStates,
  cmd: async () => (await import("./cmd.ts")).cmdStates,
  cron: async () => (await import("./cron.ts")).cronStates,
  debconf: async () => (await import("./debconf.ts")).debconfStates,
  docker_container: async () => (await import("./docker/container.ts")).containerStates,
  docker_image: async () => (await import("./docker/image.ts")).imageStates,
  docker_network: async () => (await import("./docker/network.ts")).networkStates,
  docker_volume: async () => (await import("./docker/network.ts")).volumeStates,
  environ: async () => (await import("./environ.ts")).environStates,
  event: async () => (await import("./event.ts")).eventStates,
  file: async () => (await import("./file/index.ts")).fileStates,
  firewalld: async () => (await import("./firewalld.ts")).firewalldStates,
  gem: async () => (await import("./gem.ts")).gemStates,
  git: async () => [
    ...(await import("./git.ts")).gitStates,
    ...(await import("./git-config.ts")).gitConfigStates,
  ],
  group: async () => (await import("./group.ts")).groupStates,
  host: async () => (await import("./host.ts")).hostStates,
  hostname: async () => (await import("./hostname.ts")).hostnameStates,
  ini: async () => (await import("./ini.ts")).iniStates,
  iptables: async () => (await import("./iptables.ts")).iptablesStates,
  kmod: async () => (await import("./kmod.ts")).kmodStates,
  locale: async () => (await import("./locale.ts")).localeStates,
  lvm: async () => (await import("./lvm.ts")).lvmStates,
  module: async () => (await import("./module.ts")).moduleStates,
  mount: async () => (await import("./mount.ts")).mountStates,
  mysql_database: async () => (await import("./mysql/database.ts")).databaseStates,
  mysql_grants: async () => (await import("./mysql/grants.ts")).grantStates,
  mysql_user: async () => (await import("./mysql/user.ts")).userStates,
  nftables: async () => (await import("./nftables.ts")).nftablesStates,
  npm: async () => (await import("./npm.ts")).npmStates,
  pip: async () => (await import("./pip.ts")).pipStates,
  pkg: async () => (await import("./pkg.ts")).pkgStates,
  pkgrepo: async () => (await import("./pkgrepo.ts")).pkgrepoStates,
  postgres_database: async () => (await import("./postgres/database.ts")).databaseStates,
  postgres_extension: async () => (await import("./postgres/content.ts")).extensionStates,
  postgres_group: async () => (await import("./postgres/role.ts")).groupStates,
  postgres_privileges: async () => (await import("./postgres/privileges.ts")).privilegeStates,
  postgres_schema: async () => (await import("./postgres/content.ts")).schemaStates,
  postgres_tablespace: async () => (await import("./postgres/tablespace.ts")).tablespaceStates,
  postgres_user: async () => (await import("./postgres/role.ts")).userStates,
  selinux: async () => (await import("./selinux.ts")).selinuxStates,
  service: async () => (await import("./service.ts")).serviceStates,
  ssh_auth: async () => (await import("./ssh-auth.ts")).sshAuthStates,
  ssh_known_hosts: async () => (await import("./ssh-known-hosts.ts")).sshKnownHostsStates,
  sysctl: async () => (await import("./sysctl.ts")).sysctlStates,
  systemd: async () => (await import("./systemd.ts")).systemdStates,
  test: async () => (await import("./test.ts")).testStates,
  timezone: async () => (await import("./timezone.ts")).timezoneStates,
  ufw: async () => (await import("./ufw.ts")).ufwStates,
  user: async () => (await import("./user.ts")).userStates,
  virt: async () => (await import("./virt.ts")).virtStates,
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
