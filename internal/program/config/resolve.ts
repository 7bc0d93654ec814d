import { isAbsolute } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { fileError } from "../../base/place.ts";
import { type FileValue, readKeys } from "./file.ts";
import { readFlags } from "./flags.ts";
import { formatHelp } from "./help.ts";
import { type DefaultContext, isDerived, type OptionTable, type Values } from "./option.ts";
import { formatConfig, type Origin } from "./print.ts";
import { type ReadFile, readConfigFile } from "./read-file.ts";

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Rejects the value of a key. The error also names the origin of the value. */
export type Refuse<Table extends OptionTable> = (key: keyof Table & string, complaint: string) => never;

export interface LoadInput<Table extends OptionTable> {
  readonly options: Table;
  /** Name of the program: `svc-master`. */
  readonly name: string;
  /** What the program does, for its help. */
  readonly summary: string;
  readonly examples: readonly string[];
  /** Its commands, with their descriptions. */
  readonly commands?: readonly (readonly [string, string])[];
  /** Arguments without the program's name. */
  readonly argv: readonly string[];
  readonly env: Env;
  /** The file to read without `--config`. It may be absent. */
  readonly defaultFile: string;
  /** Keys of another program that shares the file: validated, then ignored. */
  readonly shared?: OptionTable;
  /** Rules that involve several keys. */
  readonly validate?: (values: Values<Table>, refuse: Refuse<Table>) => void;
  readonly readFile?: ReadFile | undefined;
}

const fixedDataDir = "/data";

/** What the daemon must do: print a text and exit 0, or run. */
export type Loaded<V> =
  | { kind: "help" | "print"; text: string }
  | { kind: "version" }
  | {
      kind: "run";
      values: V;
      /** The file that was read. */
      file?: string;
    };

/**
 * Resolves the configuration of a daemon: defaults, then the file, then the flags that were passed
 * (specification, "Master configuration").
 *
 * @throws SvcError `usage` for flags, `bad_request` for the file and the environment, `forbidden` for
 *   a file without read permission
 */
export function loadConfig<Table extends OptionTable>(input: LoadInput<Table>): Loaded<Values<Table>> {
  const flags = readFlags(input.options, input.argv, input);
  if (flags.wants === "help") return { kind: "help", text: formatHelp(input, process.stdout.columns) };
  if (flags.wants === "version") return { kind: "version" };
  const file = flags.config ?? input.defaultFile;
  const content = (input.readFile ?? readConfigFile)(file);
  if (content === undefined && flags.config !== undefined) {
    throw new SvcError("bad_request", `--config: ${file} does not exist`);
  }
  const tables = input.shared === undefined ? [input.options] : [input.options, input.shared];
  const inFile = content === undefined ? new Map<string, FileValue>() : readKeys(file, content, tables);
  const given = new Map<string, { value: unknown; origin: Origin }>();
  for (const [key, { value, at }] of inFile) given.set(key, { value, origin: { from: "file", file, at } });
  for (const [key, { value, flag }] of flags.values)
    given.set(key, { value, origin: { from: "flag", flag } });
  const values = resolve(input.options, given, dataDir(input.env));
  const withoutEnvironment = resolve(input.options, given, fixedDataDir);
  const originOf = (key: string): Origin => {
    const own = given.get(key)?.origin;
    if (own !== undefined && values[key] !== "") return own;
    const variable = input.options[key]?.variable;
    if (values[key] === "" && variable !== undefined && input.env[variable]) {
      return { from: "environment", variable };
    }
    if (values[key] !== withoutEnvironment[key]) return { from: "environment", variable: "SVC_DATA_DIR" };
    return own ?? { from: "default" };
  };
  input.validate?.(values, (key, complaint) => {
    throw refusal(key, complaint, originOf(key));
  });
  if (flags.wants === "print") {
    return { kind: "print", text: formatConfig(input.name, input.options, values, originOf) };
  }
  return { kind: "run", values, ...(content === undefined ? {} : { file }) };
}

/**
 * Completes the given values with the defaults of a table.
 *
 * @param given values by key; keys of other tables are ignored
 */
export function resolve<Table extends OptionTable>(
  options: Table,
  given: ReadonlyMap<string, { readonly value: unknown }>,
  dataDirectory: string,
): Values<Table> {
  const values = new Map<string, unknown>();
  const context: DefaultContext = {
    dataDir: dataDirectory,
    text(key) {
      const value = values.get(key);
      if (typeof value !== "string") throw new Error(`${key} must stand earlier in the table and hold text`);
      return value;
    },
  };
  for (const [key, declared] of Object.entries(options)) {
    const found = given.get(key);
    if (found !== undefined) values.set(key, found.value);
    else values.set(key, isDerived(declared.default) ? declared.default.resolve(context) : declared.default);
  }
  // Every value was created by the type of its own key.
  return Object.fromEntries(values) as Values<Table>;
}

/**
 * The data directory of a daemon, which replaces `/data` in its defaults: `SVC_DATA_DIR`, or `/data`.
 *
 * @throws SvcError `bad_request` when it is not an absolute path
 */
export function dataDir(env: Env): string {
  const given = env.SVC_DATA_DIR;
  if (given === undefined || given === "") return fixedDataDir;
  if (!isAbsolute(given)) throw new SvcError("bad_request", "SVC_DATA_DIR: expected an absolute path");
  return given.replace(/(?<=.)\/+$/, "");
}

/** The error for the value of a key, with the origin of the value. */
export function refusal(key: string, complaint: string, origin: Origin): SvcError {
  if (origin.from === "flag") return new SvcError("usage", `${origin.flag}: ${complaint}`);
  if (origin.from === "file") return fileError(origin.file, origin.at, `${key}: ${complaint}`);
  return new SvcError("bad_request", `${key}: ${complaint}`);
}
