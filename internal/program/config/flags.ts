import { parseArgs } from "node:util";
import { quote } from "../../base/cut.ts";
import { readValue } from "../../base/document/read.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { flagOf, type OptionTable, type OptionType } from "./option.ts";

/** A parsed command line. */
export interface Flags {
  /** What to print instead of running. */
  readonly wants: "help" | "version" | "print" | undefined;
  /** The file named by `--config`. */
  readonly config: string | undefined;
  /** The values of the flags that were passed, by key, with the flag. */
  readonly values: ReadonlyMap<string, { readonly value: unknown; readonly flag: string }>;
}

/** The program that is called, with its commands and their descriptions. */
interface ProgramCommands {
  readonly name: string;
  readonly commands?: readonly (readonly [string, string])[] | undefined;
}

/** The syntax of a flag: `valued` needs a value, `switch` may have one, `bare` has none. */
type Form = "valued" | "switch" | "bare";

/**
 * Reads a daemon's command line, strictly. If a flag is repeated, the last value wins; lists are joined.
 *
 * @throws SvcError `usage` for an unknown flag, a bad or missing value, or an argument
 */
export function readFlags(
  table: OptionTable,
  argv: readonly string[],
  program: ProgramCommands = { name: "" },
): Flags {
  const options = Object.entries(table).flatMap(([key, declared]) => {
    const flag = flagOf(key, declared);
    return flag === undefined ? [] : [{ flag, key, type: declared.type }];
  });
  const forms = new Map<string, Form>([
    ["config", "valued"],
    ["print-config", "bare"],
    ["version", "bare"],
    ["help", "bare"],
    ...options.map(({ flag, type }) => [flag, type.isSwitch ? "switch" : "valued"] as const),
  ]);
  const used = collect(argv, forms, program);
  if (used.has("help")) return { wants: "help", config: undefined, values: new Map() };
  if (used.has("version")) return { wants: "version", config: undefined, values: new Map() };
  const values = new Map<string, { value: unknown; flag: string }>();
  for (const { flag, key, type } of options) {
    const texts = used.get(flag);
    if (texts === undefined) continue;
    try {
      values.set(key, { value: valueOfFlag(type, texts), flag: `--${flag}` });
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      throw new SvcError("usage", `--${flag}: ${thrown.message}`);
    }
  }
  const config = used.get("config")?.at(-1);
  if (config === "") throw new SvcError("usage", "--config: expected the path of a file");
  return { wants: used.has("print-config") ? "print" : undefined, config, values };
}

/** @throws SvcError without the name of the flag */
export function valueOfFlag<T>(type: OptionType<T>, texts: readonly string[]): T {
  return readValue(type.fromFlag?.(texts) ?? texts.at(-1) ?? "", type.schema, type.nameOf);
}

/** The texts of every flag that was passed, by name; a switch has `true` or `false`. */
function collect(
  argv: readonly string[],
  forms: ReadonlyMap<string, Form>,
  { name, commands = [] }: ProgramCommands,
): Map<string, string[]> {
  const { tokens } = parseArgs({
    args: [...argv],
    // The parser's own messages do not suggest names and do not know --no-<flag>; the tokens are checked below.
    strict: false,
    tokens: true,
    options: {
      ...Object.fromEntries(
        [...forms].map(([flag, form]) => [
          flag,
          { type: form === "valued" ? ("string" as const) : ("boolean" as const) },
        ]),
      ),
      help: { type: "boolean", short: "h" },
    },
  });
  const used = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      if (commands.some(([command]) => command === token.value)) {
        throw new SvcError(
          "usage",
          `${token.value} is a command, and a command comes first: ${name} ${token.value} --…`,
        );
      }
      throw new SvcError("usage", `unexpected argument ${shown(token.value)}: settings are given as flags`);
    }
    const [flag, text] = readToken(token, forms);
    used.set(flag, [...(used.get(flag) ?? []), text]);
  }
  return used;
}

interface FlagToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readToken(token: FlagToken, forms: ReadonlyMap<string, Form>): [flag: string, text: string] {
  const { name, rawName, value, inlineValue } = token;
  const negated = name.startsWith("no-") ? name.slice(3) : "";
  const turnsOff = forms.get(negated) === "switch";
  const form = turnsOff ? "bare" : forms.get(name);
  switch (form) {
    case "valued":
      if (value === undefined) throw new SvcError("usage", `--${name} needs a value`);
      // Otherwise a forgotten value would consume the next flag.
      if (!inlineValue && value.startsWith("-")) {
        throw new SvcError(
          "usage",
          `--${name} needs a value: write --${name}=... if it starts with a hyphen`,
        );
      }
      return [name, value];
    case "switch":
      return [name, value ?? "true"];
    case "bare":
      if (value !== undefined) throw new SvcError("usage", `--${name} takes no value`);
      return turnsOff ? [negated, "false"] : [name, "true"];
    default: {
      const flags = [...forms].flatMap(([flag, each]) => (each === "switch" ? [flag, `no-${flag}`] : [flag]));
      const meant = suggestion(name, flags).replace("mean ", "mean --");
      throw new SvcError("usage", `unknown flag ${shown(rawName)}${meant}`);
    }
  }
}

function shown(text: string): string {
  return /^[\w-]{1,60}$/.test(text) ? text : quote(text, 60);
}
