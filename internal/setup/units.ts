/** What a unit of systemd starts. */
export interface UnitOptions {
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
  const { program, config, dataDir, user } = options;
  return `# Written by svc init. The directory ${dataDir} belongs to ${user}.
[Unit]
Description=svc master and its bus
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=${user}
ExecStart=${word(program)} --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=2
# The bus ends after what masters and peels still send.
KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=${word(dataDir)}
ProtectHome=read-only
PrivateTmp=${isTemporary(dataDir) ? "no" : "yes"}
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`;
}

/**
 * The unit of a peel. What a job does to the host it does as root: a sandbox around the peel would be one
 * around every job.
 */
export function peelUnit({ program, config, dataDir }: UnitOptions): string {
  return `# Written by svc init. Jobs change the host, so the peel is root and in no sandbox.
[Unit]
Description=svc peel
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${word(program)} --config ${argument(config)}
${environment(dataDir)}
Restart=always
RestartSec=5
# What a job has started for good outlives a restart of the peel.
KillMode=process
TimeoutStopSec=60
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
`;
}

/** The programs are Bun executables: what steers Bun from outside is taken away. */
function environment(dataDir: string): string {
  return `Environment=${word(`SVC_DATA_DIR=${dataDir}`)}\nUnsetEnvironment=BUN_OPTIONS BUN_BE_BUN`;
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

function isTemporary(path: string): boolean {
  return /^(?:\/var)?\/tmp\//.test(path);
}
