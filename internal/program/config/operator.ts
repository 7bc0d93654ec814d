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
 * Reads the configuration of the `svc` tool: the file of `--config` and no other, or else the first
 * of `/etc/svc/master.yaml` and `~/.svc/config.yaml` that has a `master:` section (specification,
 * "Operator CLI configuration"). Both may be absent. If the second exists, the first may be unreadable
 * for the operator.
 *
 * @param input.home home directory of the operator; empty means none
 * @throws SvcError `bad_request`, or `forbidden` when a file exists but none is readable
 */
export function loadOperatorConfig(input: {
  configFlag?: string | undefined;
  env: Env;
  home: string;
  readFile?: ReadFile;
}): OperatorConfig {
  const readFile = input.readFile ?? readConfigFile;
  const dataDirectory = dataDir(input.env);
  const read = (file: string, content: string, tables: readonly OptionTable[]) =>
    readOperator(file, readKeys(file, content, tables), dataDirectory);
  if (input.configFlag !== undefined) {
    const content = readFile(input.configFlag);
    if (content === undefined) {
      throw new SvcError("bad_request", `--config: ${input.configFlag} does not exist`);
    }
    return read(input.configFlag, content, [operatorOptions, masterOptions]).values;
  }
  const shared = attempt(() => readFile(sharedFile));
  if (typeof shared === "string") {
    const { values, found } = read(sharedFile, shared, [operatorOptions, masterOptions]);
    if (found) return values;
  }
  const own = input.home === "" ? undefined : join(input.home, ".svc", "config.yaml");
  const content = own === undefined ? undefined : readFile(own);
  if (own !== undefined && content !== undefined) return read(own, content, [operatorOptions]).values;
  if (shared instanceof SvcError) throw shared;
  return resolve(operatorOptions, new Map(), dataDirectory);
}

/** The text, or the error when the file exists but the operator may not read it. */
function attempt(readText: () => string | undefined): string | undefined | SvcError {
  try {
    return readText();
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
  return { values, found: Object.keys(operatorOptions).some((key) => given.has(key)) };
}
