import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { type FileValue, readKeys } from "./file.ts";
import { masterOptions } from "./master-options.ts";
import { operatorOptions } from "./operator-options.ts";
import type { OptionTable, Values } from "./option.ts";
import { pairProblem } from "./pair.ts";
import { type ReadFile, readConfigFile } from "./read-file.ts";
import { dataDir, type Env, refusal, resolve } from "./resolve.ts";

type OperatorConfig = Values<typeof operatorOptions>;

/** The file that the tool shares with the master daemon. */
const sharedFile = "/etc/svc/master.yaml";

/**
 * Reads the configuration of the `svc` tool: the file of `--config` or `SVC_CONFIG` and no other, or else the first
 * of `/etc/svc/master.yaml` and `~/.svc/config.yaml` that has a `master:` section (specification, "Operator CLI
 * configuration"). For a person the own file comes first. Both may be absent. If the second exists, the first may
 * be unreadable for the operator.
 *
 * An operator file that was installed counts where the configuration names no credentials, and before the shared
 * file.
 *
 * @param input.home home directory of the operator; empty means none
 * @param input.login the operator file of the context in use
 * @param input.context whether the context was asked for by name: then it counts before everything in `~/.svc`
 * @param input.isPerson whether the caller is not root
 * @throws SvcError `bad_request`, or `forbidden` when a file exists but none is readable
 */
export function loadOperatorConfig(input: {
  configFlag?: string | undefined;
  env: Env;
  home: string;
  login?: string | undefined;
  context?: boolean;
  isPerson?: boolean;
  readFile?: ReadFile;
}): OperatorConfig {
  const { login } = input;
  const readFile = input.readFile ?? readConfigFile;
  const dataDirectory = dataDir(input.env);
  const read = (file: string, content: string, tables: readonly OptionTable[]) =>
    readOperator(file, readKeys(file, content, tables), dataDirectory);
  const loggedIn = (values: OperatorConfig): OperatorConfig =>
    login === undefined || namesCredentials(values) ? values : { ...values, "master.operator_file": login };
  const byVariable = input.context === true ? undefined : input.env.SVC_CONFIG || undefined;
  const named = input.configFlag ?? byVariable;
  if (named !== undefined) {
    const content = readFile(named);
    if (content === undefined) {
      const from = input.configFlag === undefined ? "SVC_CONFIG" : "--config";
      throw new SvcError("bad_request", `${from}: ${named} does not exist`);
    }
    return loggedIn(read(named, content, [operatorOptions, masterOptions]).values);
  }
  const ownFile = input.home === "" ? undefined : join(input.home, ".svc", "config.yaml");
  const readOwn = () => {
    const content = ownFile === undefined ? undefined : readFile(ownFile);
    return ownFile === undefined || content === undefined
      ? undefined
      : read(ownFile, content, [operatorOptions]).values;
  };
  const defaults = () => resolve(operatorOptions, new Map(), dataDirectory);
  if (login !== undefined && input.context === true) {
    return { ...(readOwn() ?? defaults()), ...withoutCredentials, "master.operator_file": login };
  }
  if (login !== undefined || input.isPerson === true) {
    const own = orUnreadable(readOwn);
    if (own !== undefined && !(own instanceof SvcError)) return loggedIn(own);
    if (login !== undefined) return loggedIn(defaults());
  }
  const shared = orUnreadable(() => readFile(sharedFile));
  if (typeof shared === "string") {
    const { values, found } = read(sharedFile, shared, [operatorOptions, masterOptions]);
    if (found) return values;
  }
  const own = readOwn();
  if (own !== undefined) return own;
  if (shared instanceof SvcError) throw shared;
  return defaults();
}

const withoutCredentials = { "master.creds_file": "", "master.nkey_seed_file": "" };

/** Whether a configuration itself names the operator. */
function namesCredentials(values: OperatorConfig): boolean {
  const keys = ["master.creds_file", "master.nkey_seed_file", "master.operator_file"] as const;
  return keys.some((key) => values[key] !== "");
}

/** The value, or the error when the file exists but the operator may not read it. */
function orUnreadable<T>(readValue: () => T): T | SvcError {
  try {
    return readValue();
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.kind === "forbidden") return thrown;
    throw thrown;
  }
}

function readOperator(
  file: string,
  given: ReadonlyMap<string, FileValue>,
  dataDirectory: string,
): { values: OperatorConfig; found: boolean } {
  const values = resolve(operatorOptions, given, dataDirectory);
  const problem = pairProblem(values, "master.tls_cert", "master.tls_key");
  if (problem !== undefined) {
    const at = given.get(problem.key)?.at;
    throw refusal(
      problem.key,
      problem.complaint,
      at === undefined ? { from: "default" } : { from: "file", file, at },
    );
  }
  // A master has keys of traces of its own.
  return { values, found: [...given.keys()].some((key) => key.startsWith("master.")) };
}
