/** A daemon as a system service. */
export interface Service {
  name: "svc-master" | "svc-peel";
  /** Its configuration file in /etc/svc. */
  config: string;
  /** Its data directory: keys, credentials, records. No script ever removes it. */
  dataDir: string;
  /** The user it runs as, created at installation unless it is `root`. */
  user: string;
  /** Whether it starts at boot once a configuration exists. */
  enabled: boolean;
}

/** The maintainer scripts of Debian (Debian Policy, chapter 6). */
export function debScripts(service: Service): Record<string, string> {
  const { name, config, dataDir } = service;
  return {
    postinst: script(
      `if [ "$1" != configure ]; then exit 0; fi`,
      ...prepare(service),
      `if [ -z "$2" ]; then first=yes; else first=no; fi`,
      ...start(service),
    ),
    prerm: script(`if [ "$1" != remove ]; then exit 0; fi`, ...stop(service)),
    postrm: script(
      `if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi`,
      `if [ "$1" != purge ]; then exit 0; fi`,
      `rm -f ${config} /etc/systemd/system/multi-user.target.wants/${name}.service`,
      `if [ -d /etc/svc ]; then rmdir --ignore-fail-on-non-empty /etc/svc; fi`,
      `if [ -d ${dataDir} ]; then echo "${name}: ${dataDir} and its keys are kept; remove the directory if they are not needed."; fi`,
    ),
  };
}

/** The scriptlets of RPM: `$1` is the number of versions that will be installed afterwards. */
export function rpmScripts(service: Service): Record<string, string> {
  const { name } = service;
  return {
    post: lines(...prepare(service), `if [ "$1" = 1 ]; then first=yes; else first=no; fi`, ...start(service)),
    preun: lines(
      `if [ "$1" != 0 ]; then exit 0; fi`,
      `if command -v systemctl >/dev/null; then systemctl --quiet --no-reload disable ${name}.service || :; fi`,
      ...stop(service),
    ),
    postun: lines(`if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi`),
  };
}

/** Creates a missing user and missing directories. Existing ones keep their owner and mode. */
function prepare({ user, dataDir }: Service): string[] {
  const account =
    `useradd --system --user-group --no-create-home --home-dir ${dataDir} --shell /usr/sbin/nologin` +
    ` --comment "svc master" ${user}`;
  return [
    ...(user === "root" ? [] : [`if ! getent passwd ${user} >/dev/null; then ${account}; fi`]),
    `if [ ! -e ${dataDir} ]; then install -d -m 0700 -o ${user} -g ${user} ${dataDir}; fi`,
    `if [ ! -e /etc/svc ]; then install -d -m 0755 /etc/svc; fi`,
  ];
}

/**
 * Without its configuration the unit is skipped; a daemon that nobody started stays as it is. A package is
 * installed whether or not the daemon gets to its bus.
 */
function start({ name, enabled }: Service): string[] {
  return [
    ...(enabled
      ? [
          `if [ $first = yes ] && command -v systemctl >/dev/null; then systemctl --quiet enable ${name}.service; fi`,
        ]
      : []),
    `if [ ! -d /run/systemd/system ]; then exit 0; fi`,
    `systemctl daemon-reload`,
    ...unlessItsOwnJob(name, "restart it when the job is done"),
    ...(enabled ? [`if [ $first = yes ]; then systemctl --no-block start ${name}.service || :; fi`] : []),
    `if [ $first = no ]; then systemctl --no-block try-restart ${name}.service || :; fi`,
  ];
}

function stop({ name }: Service): string[] {
  return [
    `if [ ! -d /run/systemd/system ]; then exit 0; fi`,
    ...unlessItsOwnJob(name, "stop it when the job is done"),
    `systemctl stop ${name}.service || :`,
  ];
}

/** Stopping a peel stops its jobs: a job that upgrades the package would stop itself halfway. */
function unlessItsOwnJob(name: Service["name"], advice: string): string[] {
  if (name !== "svc-peel") return [];
  return [
    `if grep -q '/${name}\\.service' /proc/self/cgroup; then`,
    `  echo "${name}: this runs in a job of the peel, so the peel is not changed now; ${advice}."`,
    `  exit 0`,
    `fi`,
  ];
}

function script(...body: string[]): string {
  return `#!/bin/sh\nset -e\n${lines(...body)}`;
}

function lines(...body: string[]): string {
  return `${body.join("\n")}\n`;
}
