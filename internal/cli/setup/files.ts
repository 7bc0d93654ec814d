import { formatAddress } from "../../base/names/address.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import type { Plan } from "./plan.ts";

/** Directories for the files that operators write, by configuration key of the master. */
export function contentDirectories({ dir }: Plan) {
  return {
    states_dir: `${dir}/states`,
    settings_dir: `${dir}/settings`,
    "reactor.dir": `${dir}/reactor`,
  };
}

/** The configuration of the master, which runs its own bus. */
export function masterFile(plan: Plan): string {
  const { names, paths } = plan;
  const { "reactor.dir": reactorDir, ...flat } = contentDirectories(plan);
  return [
    `# Written by svc init. Read by svc-master --config ${paths.master}\n`,
    formatYaml({ bus_url: plan.busUrl, bus_ca: paths.busCa }),
    "# The bus runs as a child process of the master, from this directory.\n",
    formatYaml({ embedded_bus: true, embedded_bus_dir: paths.bus }),
    plan.advertisedBusUrls.length === 0
      ? "# This fleet is for this host only. For other hosts, list bus URLs that they can reach; see svc init --help.\n"
      : "# Bus URLs for peels on other hosts.\n",
    formatYaml({ bus_advertise_urls: plan.advertisedBusUrls }),
    "\n",
    formatYaml({
      auth_dir: paths.auth,
      decisions_log: `${plan.dir}/decisions.log`,
      roles_file: `${plan.dir}/roles.yaml`,
      ...flat,
    }),
    "\n",
    formatYaml({
      enroll: { addr: formatAddress(plan.apiListen), advertise_urls: [plan.masterUrl] },
      ca: { mode: "embedded", enroll_sans: names.filter((name) => name !== "localhost") },
      settings: { strict_facts: true },
      // A fleet of svc nats-auth init sets it when each operator has a key: svc operator adopt.
      operators: { require_signed: true },
      // And this one when each peel that is connected at a site has its label.
      api: { tokens: [{ username: "operator", token_file: paths.token }] },
      ...(reactorDir === undefined ? {} : { reactor: { dir: reactorDir } }),
    }),
  ].join("");
}

/** The configuration of the `svc` tool. */
export function operatorFile({ busUrl, paths }: Plan, firstOperator: string): string {
  return [
    `# Written by svc init. Read by svc --config ${paths.operator}; without that option, install it as\n`,
    "# ~/.svc/config.yaml. The operator file is that of the first operator, who adds others.\n",
    formatYaml({
      master: { urls: [busUrl], operator_file: firstOperator, tls_ca: paths.busCa },
    }),
  ].join("");
}

/** The configuration of a peel. It is the same for every host. */
export function peelFile({ busUrl, advertisedBusUrls, masterUrl, paths }: Plan, pin: string): string {
  const local = advertisedBusUrls.length === 0;
  return [
    "# Written by svc init, for every host of the fleet. Install it as /etc/svc/peel.yaml, with\n",
    `# ${paths.busCa} as /data/auth/bus-ca.crt.\n`,
    "# The peel id is the host name, unless it is set here:\n",
    "# id: web-1.example.com\n",
    formatYaml({ master_url: masterUrl }),
    "# The pin of the fleet's CA. The peel enrolls only with a master of this CA.\n",
    formatYaml({ enroll_ca_pin: [pin] }),
    local
      ? `# This fleet is for this host only.\n${formatYaml({ bus_url: busUrl })}`
      : "# The peel gets the bus URLs from the master.\n",
  ].join("");
}
