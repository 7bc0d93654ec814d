/** What a unit of systemd starts. */
export interface UnitOptions {
  /** Who wrote the unit, for its first line. */
  author: string;
  /** Absolute path of the executable. */
  program: string;
  /** Absolute path of its configuration. */
  config: string;
  /** What it owns, `SVC_DATA_DIR`. Absolute. */
  dataDir: string;
}

/**
 * The unit of a master that runs its bus as a child: without any capability, and nothing of the host
 * writable but its own directory.
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
User=${user}
ExecStart=${word(program)} --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=2
# The bus ends after what masters and peels still send.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
# A memory image would hold the keys.
LimitCORE=0
UMask=0077
# It opens ports above 1023 and changes no user: it needs no capability, and gains none by a program it starts.
NoNewPrivileges=yes
CapabilityBoundingSet=
# Of the host it writes its own directory and nothing else.
ProtectSystem=strict
ReadWritePaths=${word(dataDir)}
ProtectHome=${isHome(dataDir) || isHome(config) || isHome(program) ? "read-only" : "yes"}
PrivateTmp=${isTemporary(dataDir) ? "no" : "yes"}
# What follows takes away parts of the kernel that a network server has no use for.
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
LockPersonality=yes
# Netlink tells the addresses of the host.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# MemoryDenyWriteExecute= is not possible: JavaScript is compiled while it runs.
SystemCallFilter=@system-service
# A call outside the filter fails, as on an older kernel, and does not end the master.
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/**
 * The unit of a peel, below its watchdog. What a job does to the host it does as root: a sandbox around the
 * peel would be one around every job.
 */
export function peelUnit({ program, config, dataDir, author }: UnitOptions): string {
  return `# Written by ${author}. Jobs change the host, so the peel is root and in no sandbox.
${section("svc peel", config)}
[Service]
Type=notify
ExecStart=${word(program)} watchdog --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=5
# The watchdog ends the peel in order; a second signal would end it at once. A job that ended with the
# peel is reported as lost: nothing of it goes on unseen. What is to outlive the peel is started as a
# service of its own, by systemctl or systemd-run.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
# A memory image would hold the keys.
LimitCORE=0

[Install]
WantedBy=multi-user.target
`;
}

/** Without its configuration a unit is skipped, not failed; a wrong one is tried until it is right. */
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

/** The programs are Bun executables: what steers Bun from outside is taken away. */
function environment(dataDir: string): string {
  return `Environment=${word(`SVC_DATA_DIR=${dataDir}`)}\nUnsetEnvironment=BUN_OPTIONS BUN_BE_BUN NODE_OPTIONS`;
}

/** One word of a setting, with quotes where it needs them (systemd.syntax(7), systemd.unit(5)). */
function word(text: string): string {
  const escaped = text.replaceAll("%", "%%");
  return /^[\w@/.,:+=%-]+$/.test(escaped) ? escaped : `"${escaped.replace(/[\\"]/g, "\\$&")}"`;
}

/** One argument of a command line, where a dollar sign begins a variable (systemd.service(5)). */
function argument(text: string): string {
  return word(text.replaceAll("$", "$$$$"));
}

function isHome(path: string): boolean {
  return /^\/(?:home|root|run\/user)\//.test(path);
}

function isTemporary(path: string): boolean {
  return /^(?:\/var)?\/tmp\//.test(path);
}
