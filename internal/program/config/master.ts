import { masterOptions } from "./master-options.ts";
import { operatorOptions } from "./operator-options.ts";
import type { Values } from "./option.ts";
import { pairProblem } from "./pair.ts";
import type { ReadFile } from "./read-file.ts";
import { type Env, type Loaded, loadConfig, type Refuse } from "./resolve.ts";

export type MasterConfig = Values<typeof masterOptions>;

/** The program's entry in help and reference. */
export const masterProgram = {
  name: "svc-master",
  summary: "serves enrollment, the REST API and the bus services of a fleet",
  options: masterOptions,
  defaultFile: "/etc/svc/master.yaml",
  examples: ["svc-master", "svc-master --config /srv/fleet/master.yaml", "svc-master --print-config"],
  commands: [
    ["check", "test the configuration without starting the daemon; see svc-master check --help"],
    ["bus-server", "show the nats-server that this master would run; see svc-master bus-server --help"],
  ],
} as const;

/**
 * Reads the configuration of the master daemon. Its file may also hold the `master:` section of the
 * `svc` tool, which is validated and then ignored.
 *
 * @param argv arguments without the program's name
 * @throws SvcError `usage` or `bad_request`
 */
export function loadMasterConfig(
  argv: readonly string[],
  env: Env,
  readFile?: ReadFile,
): Loaded<MasterConfig> {
  return loadConfig({
    ...masterProgram,
    argv,
    env,
    shared: operatorOptions,
    validate: validateMaster,
    readFile,
  });
}

function validateMaster(values: MasterConfig, refuse: Refuse<typeof masterOptions>): void {
  const problem = pairProblem(values, "bus_tls_cert", "bus_tls_key");
  if (problem !== undefined) refuse(problem.key, problem.complaint);
  if (values.embedded_bus_only && !values.embedded_bus) {
    refuse("embedded_bus_only", "only allowed with embedded_bus: true");
  }
  if (values.site !== "" && !values.embedded_bus_only) {
    refuse("site", "only allowed with embedded_bus_only: true: no master runs at a site");
  }
  if (values.site !== "" && values.master_urls.length === 0) refuse("site", "needs master_urls");
}
