/** Options of a systemd unit. */
export interface UnitOptions {
  /** The program that wrote the unit, for its first line. */
  author: string;
  /** Absolute path of the executable. */
  program: string;
  /** Absolute path of its configuration. */
  config: string;
  /** Its data directory, `SVC_DATA_DIR`. Absolute. */
  dataDir: string;
}

/**
 * The unit of a master that runs its bus as a child process: without capabilities, and with write access
 * only to its own directory.
 *
 * @param options.user owner of the directory
 */
export function masterUnit(options: UnitOptions & { user: string }): string {
  const { program, config, dataDir, user, author } = options;
  return `# Written by ${author}. The directory ${dataDir} belongs to ${user}.
${section("svc master and its bus", config)}
[Service]
# It has started when it serves, and waits for a bus that is away however long that takes.
Type=notify
TimeoutStartSec=infinity
# A master that is blocked, or whose listener has exited, is restarted.
WatchdogSec=60
User=${user}
ExecStart=${word(program)} --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=2
# The bus stops last, after the master has sent its last messages.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
# A memory image would hold the keys.
LimitCORE=0
UMask=0077
# It listens on ports above 1023 and does not change users. It needs no capabilities, and cannot gain any.
NoNewPrivileges=yes
CapabilityBoundingSet=
# It can write only to its own directory.
ProtectSystem=strict
ReadWritePaths=${word(dataDir)}
ProtectHome=${isHome(dataDir) || isHome(config) || isHome(program) ? "read-only" : "yes"}
PrivateTmp=${isTemporary(dataDir) ? "no" : "yes"}
# The following settings remove access to parts of the kernel that a network server does not need.
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
LockPersonality=yes
# Netlink is needed to list the addresses of the host.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# MemoryDenyWriteExecute= is not possible: JavaScript is compiled while it runs.
SystemCallFilter=@system-service
# A call outside the filter fails, as on an older kernel, instead of killing the master.
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/**
 * The unit of a peel under its watchdog. Jobs change the host as root: a sandbox around the peel would
 * restrict every job.
 */
export function peelUnit({ program, config, dataDir, author }: UnitOptions): string {
  return `# Written by ${author}. Jobs change the host, so the peel runs as root and without a sandbox.
${section("svc peel", config)}
[Service]
Type=notify
# A watchdog that is blocked is restarted; the watchdog itself restarts a peel that does not answer.
WatchdogSec=60
ExecStart=${word(program)} watchdog --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=5
# The watchdog stops the peel gracefully; a second signal would stop it at once. A job that ends with the
# peel is reported as lost, and its processes do not continue unnoticed. Start a process that must outlive
# the peel as its own service, with systemctl or systemd-run.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
# A memory image would hold the keys.
LimitCORE=0

[Install]
WantedBy=multi-user.target
`;
}

/**
 * What makes the unit of a peel join a fleet before it starts, with a token that systemd hands over. It repeats until
 * the host is a member, and does nothing on a member.
 *
 * @param options.token absolute path of the token
 */
export function joinDropIn({ program, token }: Pick<UnitOptions, "program"> & { token: string }): string {
  return `[Unit]
# The configuration is written by the first start.
ConditionPathExists=
[Service]
LoadCredential=join-token:${token.replaceAll("%", "%%")}
ExecStartPre=${word(program)} join --once
# With --hold, an operator decides.
TimeoutStartSec=infinity
`;
}

/** Without its configuration file a unit is skipped, not failed. With a wrong one it is restarted until fixed. */
function section(description: string, config: string): string {
  return `[Unit]
Description=${description}
Wants=network-online.target
After=network-online.target
# The rest of the line is the path: no quotes here.
ConditionPathExists=${config.replaceAll("%", "%%")}
StartLimitIntervalSec=0
`;
}

/** The programs are Bun executables: unset the variables that control Bun. */
function environment(dataDir: string): string {
  return `Environment=${word(`SVC_DATA_DIR=${dataDir}`)}\nUnsetEnvironment=BUN_OPTIONS BUN_BE_BUN NODE_OPTIONS`;
}

/** One word of a setting, quoted where needed (systemd.syntax(7), systemd.unit(5)). */
function word(text: string): string {
  const escaped = text.replaceAll("%", "%%");
  return /^[\w@/.,:+=%-]+$/.test(escaped) ? escaped : `"${escaped.replace(/[\\"]/g, "\\$&")}"`;
}

/** One argument of a command line, where a dollar sign starts a variable (systemd.service(5)). */
function argument(text: string): string {
  return word(text.replaceAll("$", "$$$$"));
}

function isHome(path: string): boolean {
  return /^\/(?:home|root|run\/user)\//.test(path);
}

function isTemporary(path: string): boolean {
  return /^(?:\/var)?\/tmp\//.test(path);
}
