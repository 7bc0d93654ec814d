import type { MasterConfig } from "../../program/config/mod.ts";

const restart = "systemctl restart svc-master, on the host of that master";

/**
 * What to do about a check of a master that is not well and does not say it itself, by the name of the check: such as one
 * that timed out. It is shown by `/readyz`, `svc status`, `svc doctor` and the console.
 */
export function nextSteps(config: MasterConfig): Readonly<Record<string, string>> {
  return {
    bus: config.embedded_bus
      ? `make room on the disk of ${config.embedded_bus_dir} if it is full; otherwise ${restart}`
      : `start the bus at ${config.bus_url}, or correct bus_url in the configuration of that master`,
    "bus-servers": "svc cluster check",
    ca: `svc ca renew-intermediate --dir ${config["ca.dir"]}, then ${restart}`,
    certificate: `replace ${config["enroll.tls_cert"]} and ${config["enroll.tls_key"]}: this master serves them within a minute`,
    clock: "timedatectl set-ntp true, on the host of that master",
    decisions: `make room on the disk of ${config.decisions_log}, or let svc-master write there (chown); it continues by itself`,
    "enroll-policy": `svc enroll policy lint ${config["enroll.policy"]}, and correct that file`,
    "enroll-server": restart,
    files: "copy the files that are right from one master to the others",
    gitfs: "correct gitfs.remotes in the configuration of that master, or its repository",
    keys: `chmod 600 the .seed and .creds files in ${config.auth_dir}`,
    operators: `correct administrators and masters-operators.seed in ${config.auth_dir}, or restore them from the backup`,
    reactor: `svc reactor lint ${config["reactor.dir"]}, and correct the rule`,
    roles: `svc roles lint ${config.roles_file}, and correct that file`,
    "sched-consumer": `svc bus lint; if that lasts more than a minute, ${restart}`,
    settings: `svc settings lint ${config.settings_dir}, and correct that file`,
    sites: "systemctl start svc-master, on the host of that site",
    start: restart,
    states: `svc state lint ${config.states_dir}, and correct that file`,
    storage: `make room on the disk of the bus; where it has room, ${restart}`,
    "target-service": restart,
  };
}
