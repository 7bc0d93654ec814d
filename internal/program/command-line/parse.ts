import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { childrenOf, isRepeated, isRest, metaOf, nameOf, type RestWords } from "./command.ts";
import { globalsOf } from "./globals.ts";
import { otherWord } from "./other-word.ts";

/** The command that a command line names. */
export interface Found {
  command: CommandDef;
  /** `["svc", "ca", "init"]` */
  path: readonly string[];
  /** The command line without the names of the commands. */
  rest: readonly string[];
  /** `--help` was asked for: then the command may be one that holds others. */
  help: boolean;
  version: boolean;
}

/**
 * Checked values by name; an option that was not given and has no default is absent. One that may be given several
 * times has a list.
 */
export type ArgValues = Record<string, string | boolean | readonly string[] | RestWords | undefined>;

/** What people try first for every noun. */
const listWord = "list";

/**
 * Follows the names on a command line down the tree of commands. Options may stand before them:
 * global ones anywhere, and those of a command before its own name.
 *
 * @throws SvcError `usage` for an unknown command or option, or when none that runs is named
 */
export async function findCommand(root: CommandDef, argv: readonly string[]): Promise<Found> {
  let command = root;
  const path = [nameOf(root)];
  const rest: string[] = [];
  const requested = () => {
    const before = argv.indexOf("--");
    const options = before === -1 ? argv : argv.slice(0, before);
    return {
      help: options.includes("--help") || options.includes("-h"),
      version: options.includes("--version"),
    };
  };
  let at = 0;
  for (;;) {
    const children = await childrenOf(command);
    if (children === undefined) {
      const from = metaOf(command).lists === true && argv[at] === listWord && path.length === 2 ? at + 1 : at;
      return { command, path, rest: [...rest, ...argv.slice(from)], ...requested() };
    }
    const word = argv[at];
    if (word === undefined) {
      const found = { command, path, rest, ...requested() };
      if (found.help || found.version) return found;
      // The program alone is how one meets it first.
      if (argv.length === 0 && command === root) return { ...found, help: true };
      throw usage(path, `name a command: ${children.map(nameOf).join(", ")}`);
    }
    if (word.startsWith("-")) {
      const taken = takesValue(word, path, children) ? 2 : 1;
      rest.push(...argv.slice(at, at + taken));
      at += taken;
      continue;
    }
    command = await childNamed(command, path, word);
    path.push(nameOf(command));
    at++;
  }
}

/**
 * The command, or the group of commands, that these words name: all of it for none.
 *
 * @throws SvcError `usage` naming the nearest command
 */
export async function placeNamed(
  root: CommandDef,
  words: readonly string[],
): Promise<Pick<Found, "command" | "path">> {
  let command = root;
  const path = [nameOf(root)];
  for (const word of words) {
    command = await childNamed(command, path, word);
    path.push(nameOf(command));
  }
  return { command, path };
}

/** @throws SvcError `usage` naming the nearest command */
async function childNamed(place: CommandDef, path: readonly string[], word: string): Promise<CommandDef> {
  const children = (await childrenOf(place)) ?? [];
  const child =
    children.find((one) => nameOf(one) === word) ??
    (word === listWord ? children.find((one) => metaOf(one).lists === true) : undefined);
  if (child !== undefined) return child;
  const names = children.map(nameOf);
  // What is nearest to it, such as lint, is not what is meant.
  const others = word === listWord && names.length > 0 ? ` (there is ${names.join(", ")})` : undefined;
  const hint = others ?? (suggestion(word, names) || (await elsewhere(children, path, word)));
  throw usage(path, `${path.join(" ")} has no command ${shown(word)}${hint}`);
}

/** How many places a message names. */
const maxPlaces = 4;

/** The end of a message that names the groups which have a command of this name, or an empty text. */
async function elsewhere(
  children: readonly CommandDef[],
  path: readonly string[],
  word: string,
): Promise<string> {
  const places: string[] = [];
  for (const child of children) {
    const inner = (await childrenOf(child)) ?? [];
    if (inner.some((one) => nameOf(one) === word)) places.push([...path, nameOf(child), word].join(" "));
  }
  if (places.length === 0 || places.length > maxPlaces) return "";
  return ` (did you mean ${places.join(" or ")}?)`;
}

/**
 * Whether the word after this option is its value: a global one, or one of a command that may follow.
 *
 * @throws SvcError `usage`
 */
function takesValue(word: string, path: readonly string[], children: readonly CommandDef[]): boolean {
  if (word === "-h") return false;
  const [name = "", inline] = word.slice(2).split(/=(.*)/s);
  const known: ArgsDef = Object.assign({}, ...children.map(({ args }) => args), globalsOf(path[0] ?? ""));
  const declared = word.startsWith("--") ? known[name] : undefined;
  if (declared === undefined || declared.type === "positional") {
    throw unknownOption(path, word.split("=")[0] ?? word, known);
  }
  return declared.type !== "boolean" && inline === undefined;
}

/**
 * Checks the options and arguments of a command against what it declares.
 *
 * @throws SvcError `usage` naming the option or argument, and the nearest valid one
 */
export function parseValues({ command, path, rest }: Found): ArgValues {
  const declared: ArgsDef = { ...globalsOf(path[0] ?? ""), ...(command.args as ArgsDef | undefined) };
  const positionals = Object.entries(declared).filter(([, { type }]) => type === "positional");
  const restWords: RestWords = { words: [], literal: [] };
  const values: ArgValues = {};
  const repeated: Record<string, readonly string[]> = {};
  const { tokens } = parseArgs({
    args: [...rest],
    options: parserOptions(declared),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const terminator = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? rest.length;
  let position = 0;
  for (const token of tokens) {
    if (token.kind === "positional") {
      const [name, definition] = positionals[position] ?? [];
      if (name === undefined) throw usage(path, `unexpected argument ${shown(token.value)}`);
      if (isRest(definition)) {
        restWords[token.index > terminator ? "literal" : "words"].push(token.value);
        continue;
      }
      values[name] = token.value;
      position++;
    }
    if (token.kind !== "option") continue;
    const definition = declared[token.name];
    if (definition === undefined || definition.type === "positional") {
      throw unknownOption(path, token.rawName, declared, isRest(positionals[position]?.[1]));
    }
    if (isRepeated(definition)) {
      repeated[token.name] = [...(repeated[token.name] ?? []), String(readValue(path, token, definition))];
      continue;
    }
    if (token.name in values) throw usage(path, `${token.rawName} appears twice`);
    values[token.name] = readValue(path, token, definition);
  }
  for (const [name, definition] of Object.entries(declared)) {
    if (isRest(definition)) values[name] = restWords;
    if (isRepeated(definition)) values[name] = repeated[name] ?? [];
    if (values[name] !== undefined) continue;
    if (definition.default !== undefined) values[name] = String(definition.default);
    else if (isRequired(definition)) {
      throw usage(path, `${definition.type === "positional" ? `<${name}>` : `--${name}`} is required`);
    }
  }
  return values;
}

/** Whether a command cannot run without this argument. */
export function isRequired(definition: ArgDef): boolean {
  return definition.type === "positional" ? definition.required !== false : definition.required === true;
}

function readValue(
  path: readonly string[],
  token: { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined },
  definition: ArgDef,
): string | boolean {
  const { rawName, value, inlineValue } = token;
  if (definition.type === "boolean") {
    if (value !== undefined) throw usage(path, `${rawName} takes no value`);
    return true;
  }
  if (value === undefined) throw usage(path, `${rawName} needs a value`);
  // The next option would be taken for the value of this one.
  if (inlineValue !== true && value.startsWith("-") && value !== "-") {
    throw usage(path, `${rawName} needs a value; one that starts with "-" is written ${rawName}=VALUE`);
  }
  if (definition.type === "enum" && !definition.options?.includes(value)) {
    const options = definition.options ?? [];
    const hint = suggestion(value, options);
    throw usage(path, `${rawName} is ${options.join(", ")}, not ${shown(value)}${hint}`);
  }
  return value;
}

function parserOptions(declared: ArgsDef): ParseArgsOptionsConfig {
  return Object.fromEntries(
    Object.entries(declared)
      .filter(([, { type }]) => type !== "positional")
      .map(([name, definition]) => {
        const short = "alias" in definition ? definition.alias : undefined;
        const type = definition.type === "boolean" ? ("boolean" as const) : ("string" as const);
        return [name, typeof short === "string" ? { type, short } : { type }];
      }),
  );
}

/** @param wordsFollow the next word would belong to a rest, where "--" is a way to write this one */
function unknownOption(
  path: readonly string[],
  word: string,
  declared: ArgsDef,
  wordsFollow = false,
): SvcError {
  const names = Object.keys(declared).filter((name) => declared[name]?.type !== "positional");
  // A word of a command that is run elsewhere means nothing here.
  const meant = wordsFollow ? undefined : otherWord(word.replace(/^--?/, ""), names);
  const hint =
    meant === undefined
      ? suggestion(
          word,
          names.map((name) => `--${name}`),
        )
      : ` (did you mean --${meant}?)`;
  const way = wordsFollow && hint === "" ? '; put words that are not options of svc after "--"' : "";
  return usage(path, `unknown option ${shown(word)}${hint}${way}`);
}

/** A mistake on the command line, with where to read how it is done. */
function usage(path: readonly string[], message: string): SvcError {
  return new SvcError("usage", `${message}; see ${path.join(" ")} --help`);
}

function shown(word: string): string {
  return quote(word, 60);
}
