import { formatAddress } from "../../base/address.ts";
import { formatYaml } from "../../base/yaml.ts";
import type { Plan } from "./plan.ts";

/** Where operators put what they write, by the key that names it to the master. */
export function contentDirectories({ dir }: Plan) {
  return {
    states_dir: `${dir}/states`,
    settings_dir: `${dir}/settings`,
    "reactor.dir": `${dir}/reactor`,
  };
}

/** The configuration of the master, which runs its bus itself. */
export function masterFile(plan: Plan): string {
  const { names, paths } = plan;
  const { "reactor.dir": reactorDir, ...flat } = contentDirectories(plan);
  return [
    `# Written by svc init. It is read by svc-master --config ${paths.master}\n`,
    formatYaml({ bus_url: plan.busUrl, bus_ca: paths.busCa }),
    "# The bus runs as a child of the master, from this directory.\n",
    formatYaml({ embedded_bus: true, embedded_bus_dir: paths.bus }),
    plan.advertisedBusUrls.length === 0
      ? "# This fleet is for this host alone. For others name their way to the bus here, and see svc init --help.\n"
      : "# What peels on other hosts connect to.\n",
    formatYaml({ bus_advertise_urls: plan.advertisedBusUrls }),
    "\n",
    formatYaml({ auth_dir: paths.auth, ...flat }),
    "\n",
    formatYaml({
      enroll: { addr: formatAddress(plan.apiListen) },
      ca: { mode: "embedded", enroll_sans: names.filter((name) => name !== "localhost") },
      api: { tokens: [{ username: "operator", token_file: paths.token }] },
      ...(reactorDir === undefined ? {} : { reactor: { dir: reactorDir } }),
    }),
  ].join("");
}

/** The configuration of the `svc` tool. */
export function operatorFile({ busUrl, paths }: Plan): string {
  return [
    `# Written by svc init. It is read by svc --config ${paths.operator}, and without that option as\n`,
    "# ~/.svc/config.yaml.\n",
    formatYaml({
      master: { urls: [busUrl], creds_file: `${paths.auth}/admin.creds`, tls_ca: paths.busCa },
    }),
  ].join("");
}

/** The configuration of a peel, the same for every host. */
export function peelFile({ busUrl, advertisedBusUrls, masterUrl, paths }: Plan, pin: string): string {
  const local = advertisedBusUrls.length === 0;
  return [
    "# Written by svc init, for any host of the fleet: as /etc/svc/peel.yaml, with\n",
    `# ${paths.busCa} beside it as /data/auth/bus-ca.crt.\n`,
    "# The name of the host is the name of the peel, unless it is given here:\n",
    "# id: web-1.example.com\n",
    formatYaml({ master_url: masterUrl }),
    "# The pin of the fleet's CA: a peel enrolls with no other.\n",
    formatYaml({ enroll_ca_pin: [pin] }),
    local
      ? `# This fleet is for this host alone.\n${formatYaml({ bus_url: busUrl })}`
      : "# Where the bus is, the master tells.\n",
  ].join("");
}
