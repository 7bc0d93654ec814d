import { SvcError } from "../../base/errors.ts";
import type { Values } from "./option.ts";
import { pairProblem } from "./pair.ts";
import { peelOptions } from "./peel-options.ts";
import type { ReadFile } from "./read-file.ts";
import { type Env, type Loaded, loadConfig, type Refuse } from "./resolve.ts";

export type PeelConfig = Values<typeof peelOptions>;

/** The data directory of the packages' unit, where the default of the program is /data. */
export const packagedPeelDataDir = "/var/lib/svc-peel";

/** The program's entry in help and reference. */
export const peelProgram = {
  name: "svc-peel",
  summary: "runs on a managed host: enrolls it and executes its jobs",
  options: peelOptions,
  defaultFile: "/etc/svc/peel.yaml",
  examples: [
    "svc-peel join --token-file /run/join-token",
    "svc-peel --config /etc/svc/peel.yaml",
    "svc-peel --print-config",
  ],
  commands: [
    ["join", "make this host a member of a fleet with a join token; see svc-peel join --help"],
    ["call", "run a function on this host, without a master; see svc-peel call --help"],
    ["keygen", "make the key of this host before the daemon starts; see svc-peel keygen --help"],
    ["check", "test the configuration without starting the daemon; see svc-peel check --help"],
    ["watchdog", "run the peel with these flags under a watchdog process that restarts and upgrades it"],
  ],
} as const;

/**
 * Reads the configuration of the peel daemon.
 *
 * @param argv arguments without the program's name
 * @throws SvcError `usage` or `bad_request`
 */
export function loadPeelConfig(argv: readonly string[], env: Env, readFile?: ReadFile): Loaded<PeelConfig> {
  return loadConfig({
    ...peelProgram,
    argv,
    env,
    validate: validatePeel,
    readFile,
  });
}

/** Reads the configuration for a command of `svc-peel` that is not the daemon. @throws as `loadPeelConfig` does */
export function loadForCommand({ config, env }: { config?: string; env: Env }): PeelConfig {
  const loaded = loadPeelConfig(config === undefined ? [] : ["--config", config], env);
  if (loaded.kind !== "run") throw new SvcError("internal", "internal error");
  return loaded.values;
}

function validatePeel(values: PeelConfig, refuse: Refuse<typeof peelOptions>): void {
  const problem = pairProblem(values, "bus_tls_cert", "bus_tls_key");
  if (problem !== undefined) refuse(problem.key, problem.complaint);
  const evidence = pairProblem(values, "evidence.x509_cert", "evidence.x509_key");
  if (evidence !== undefined) refuse(evidence.key, evidence.complaint);
  if (values.startup_sls_list.length > 0 && values.startup_states !== "sls") {
    refuse("startup_sls_list", "only allowed with startup_states: sls");
  }
}
