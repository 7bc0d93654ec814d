import { posix } from "node:path";
import type { Plain } from "../../base/msgpack.ts";
import type { ModuleFunction } from "../../host/modules/function.ts";
import { placeholdersOf } from "./placeholder.ts";

const chosen = "whoever sends the event chooses what stands there";
/** Arguments that only say something, by function: what event data may be. */
export const saying: Readonly<Record<string, readonly string[]>> = {
  "cmd.run": ["argv", "env", "stdin"],
  "cmd.retcode": ["argv", "env", "stdin"],
  "event.send": ["data"],
  "facts.set": ["value"],
  "file.append": ["text"],
  "file.write": ["content"],
  "service.available": ["name"],
  "service.enabled": ["name"],
  "service.reload": ["name"],
  "service.restart": ["name"],
  "service.start": ["name"],
  "service.status": ["name"],
  "service.stop": ["name"],
  "status.procs": ["match"],
  "test.echo": ["text"],
  "test.fail": ["message"],
  "user.info": ["name"],
};
/** A program reads the word behind one of these as code. */
const codeFlag = /^(?:-[A-Za-z]{0,2}[ce]|--(?:eval|exec|command|expression)(?:=.*)?)$/;

/** Programs that run another one, which their arguments name. */
const wrappers = new Set(
  "chroot doas env eval exec find flock ionice nice nohup nsenter parallel runuser setsid ssh stdbuf strace su sudo systemd-run timeout unshare watch xargs".split(
    " ",
  ),
);
const interpreters =
  /^(?:(?:ba|da|z|k|c|tc|a)?sh|fish|busybox|(?:g|m|n)?awk|perl|python|ruby|node|bun|php|lua)[\d.]*$/;

/**
 * Why no placeholder may stand in an argument of a job, or `undefined`. Event data may be what is said, not
 * what is done: no program, path, user, package, state or binary is taken from it, nor anything of a function
 * that nobody has thought about here. A path may name the source, which the bus vouches for and which has
 * letters, digits, `-` and `_` alone.
 *
 * @param value as the rule has it
 */
export function placeholderRefusal(called: ModuleFunction, name: string, value: Plain): string | undefined {
  const used = allPlaceholders(value);
  if (used.length === 0) return undefined;
  if (called.name.startsWith("cmd.") && name === "command") {
    return `no placeholder can stand where a shell reads: write env: {EVENT_NAME: "\${data.name}"} and "$EVENT_NAME" in the command, or argv, which no shell reads`;
  }
  if (saying[called.name]?.includes(name)) {
    if (name === "argv") return argvRefusal(value);
    return name === "env" ? envRefusal(value) : undefined;
  }
  const type = called.args[name]?.type;
  if (type === "path" && used.every((path) => path === "source")) return undefined;
  const most = type === "path" ? `only \${source} can stand here` : "no placeholder can stand here";
  return `${most}: ${chosen}; write the ${name} in the rule`;
}

function argvRefusal(argv: Plain): string | undefined {
  if (!Array.isArray(argv)) return "no placeholder can stand for all of argv: write a list";
  const program = posix.basename(String(argv[0]));
  for (const [at, word] of argv.entries()) {
    if (allPlaceholders(word).length === 0) continue;
    if (at === 0) return `no placeholder can stand for the program: ${chosen}`;
    if (wrappers.has(program)) return `no placeholder can stand behind ${program}, which runs what follows`;
    const before = argv[at - 1];
    if (typeof before === "string" && codeFlag.test(before)) {
      return `no placeholder can stand behind ${before}, where a program reads code: give the value as a word of its own behind the code`;
    }
    const hasScript = argv.slice(1, at).some((earlier) => !/^-|^\$/.test(String(earlier)));
    if (interpreters.test(program) && !hasScript) {
      return `no placeholder can stand where ${program} reads the name of a script: write the script before it`;
    }
  }
  return undefined;
}

/** Many variables of other names make a program run or load something. */
function envRefusal(env: Plain): string | undefined {
  if (env === null || typeof env !== "object") return "no placeholder can stand for all of env: write a map";
  const other = Object.entries(env).find(
    ([name, value]) => allPlaceholders(value).length > 0 && !/^EVENT_[A-Z0-9_]+$/.test(name),
  );
  if (other === undefined) return undefined;
  return `no placeholder can stand in ${other[0].slice(0, 60)}: a variable with a value of the event is called EVENT_NAME`;
}

/**
 * The word of a rendered argv that begins with a `-` which the rule did not write, and so would be taken for
 * an option, or `undefined`. Behind a word `--` nothing is.
 */
export function optionLikeWord(
  action: { readonly function: string; readonly args: Readonly<Record<string, Plain>> },
  rendered: Readonly<Record<string, Plain>>,
): string | undefined {
  const { argv: written } = action.args;
  const { argv } = rendered;
  if (!action.function.startsWith("cmd.") || !Array.isArray(written) || !Array.isArray(argv))
    return undefined;
  const end = written.indexOf("--");
  const at = argv.findIndex(
    (word, index) =>
      (end < 0 || index < end) &&
      typeof word === "string" &&
      word.startsWith("-") &&
      !String(written[index]).startsWith("-"),
  );
  return at < 0 ? undefined : `argv.${at}`;
}

/** The placeholders of a value and of everything in it, keys included. */
export function allPlaceholders(value: Plain): string[] {
  if (typeof value === "string") return placeholdersOf(value);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  if (Array.isArray(value)) return value.flatMap(allPlaceholders);
  return Object.entries(value).flatMap(([key, item]) => [...placeholdersOf(key), ...allPlaceholders(item)]);
}
