import { homedir, userInfo } from "node:os";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { readTextFile } from "../base/file.ts";
import { createLog } from "../base/log.ts";
import { type Bus, type BusIdentity, type BusOptions, clientCertificate, connectBus } from "../bus/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { loadOperatorConfig } from "../program/config/mod.ts";

/** What of a command line tells how the operator connects. */
type OperatorCli = Pick<Cli, "config" | "env" | "clock" | "stderr">;

/**
 * Who is at the keyboard: the name that is recorded as the decider. The system is asked for the name of
 * the user id, as the runtime only knows the environment, which anybody can set or lack.
 */
export function operatorName(): string {
  try {
    const { stdout, success } = Bun.spawnSync(["id", "-un"], { timeout: 2_000, stderr: "ignore" });
    const name = stdout.toString().trim();
    if (success && name !== "") return name;
  } catch {
    // Not every system has the command.
  }
  return userInfo().username;
}

/**
 * Connects to the bus as the configured operator, hands the connection over, and closes it.
 *
 * @param as credentials in place of the configured ones
 * @throws SvcError naming the key or file that is missing, or that the bus cannot be reached
 */
export async function withBus<T>(
  cli: OperatorCli,
  use: (bus: Bus) => Promise<T>,
  as?: { credsFile: string },
): Promise<T> {
  const bus = await connectBus(operatorBus(cli, as));
  try {
    return await use(bus);
  } finally {
    await bus.drain();
  }
}

/** How the operator connects. @throws SvcError naming the key or file that is missing */
export function operatorBus(cli: OperatorCli, as?: { credsFile: string }): BusOptions {
  const config = loadOperatorConfig({ configFlag: cli.config, env: cli.env, home: homedir() });
  const ca = config["master.tls_ca"];
  const client = clientCertificate(config["master.tls_cert"], config["master.tls_key"]);
  return {
    urls: config["master.urls"],
    name: "svc",
    identity:
      as === undefined
        ? identityOf(config["master.creds_file"], config["master.nkey_seed_file"])
        : { credentials: readTextFile(as.credsFile, "--creds") },
    ...(ca === "" ? {} : { ca: readTextFile(ca, "master.tls_ca") }),
    ...defined({ clientCertificate: client }),
    clock: cli.clock,
    log: createLog({
      level: "error",
      format: "text",
      clock: cli.clock,
      write: (line) => cli.stderr.write(line),
    }),
  };
}

/** The credentials file that is configured; empty without one. */
export function operatorCredsFile(cli: OperatorCli): string {
  const config = loadOperatorConfig({ configFlag: cli.config, env: cli.env, home: homedir() });
  return config["master.creds_file"];
}

function identityOf(credentialsFile: string, seedFile: string): BusIdentity {
  if (credentialsFile !== "") return { credentials: readTextFile(credentialsFile, "master.creds_file") };
  if (seedFile !== "") return { seed: readTextFile(seedFile, "master.nkey_seed_file") };
  throw new SvcError(
    "bad_request",
    "master.creds_file is not set: name your credentials in the configuration (admin.creds of svc nats-auth init)",
  );
}
