import { posix } from "node:path";
import type { Plain } from "../../base/msgpack.ts";
import type { ModuleFunction } from "../../host/modules/mod.ts";
import { placeholdersOf } from "./placeholder.ts";

const chosen = "the sender of the event would control its value";
/** Arguments that are only text for people, by function. Event data may be used in them. */
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
/** A program runs the word after one of these as code. */
const codeFlag = /^(?:-[A-Za-z]{0,2}[ce]|--(?:eval|exec|command|expression)(?:=.*)?)$/;

/** Programs that run another program, which their arguments name. */
const wrappers = new Set(
  "chroot doas env eval exec find flock ionice nice nohup nsenter parallel runuser setsid ssh stdbuf strace su sudo systemd-run timeout unshare watch xargs".split(
    " ",
  ),
);
const interpreters =
  /^(?:(?:ba|da|z|k|c|tc|a)?sh|fish|busybox|(?:g|m|n)?awk|perl|python|ruby|node|bun|php|lua)[\d.]*$/;

/**
 * Why a placeholder is not allowed in an argument of a job, or `undefined`. Event data may be used as text,
 * but must not control what the job does: no program, path, user, package, state or binary comes from it.
 * Functions that are not listed here take no event data. A path may contain the source, which the bus
 * authenticates and which consists of letters, digits, `-` and `_`.
 *
 * @param value the value in the rule
 */
export function placeholderRefusal(called: ModuleFunction, name: string, value: Plain): string | undefined {
  const used = allPlaceholders(value);
  if (used.length === 0) return undefined;
  if (called.name.startsWith("cmd.") && name === "command") {
    return `placeholders are not allowed in shell commands: write env: {EVENT_NAME: "\${data.name}"} and "$EVENT_NAME" in the command, or use argv, which runs without a shell`;
  }
  if (saying[called.name]?.includes(name)) {
    if (name === "argv") return argvRefusal(value);
    return name === "env" ? envRefusal(value) : undefined;
  }
  const type = called.args[name]?.type;
  if (type === "path" && used.every((path) => path === "source")) return undefined;
  const most = type === "path" ? `only \${source} is allowed here` : "placeholders are not allowed here";
  return `${most}: ${chosen}; write the ${name} in the rule`;
}

function argvRefusal(argv: Plain): string | undefined {
  if (!Array.isArray(argv)) return "a placeholder cannot replace all of argv: write a list";
  const program = posix.basename(String(argv[0]));
  for (const [at, word] of argv.entries()) {
    if (allPlaceholders(word).length === 0) continue;
    if (at === 0) return `a placeholder cannot be the program: ${chosen}`;
    if (wrappers.has(program))
      return `placeholders are not allowed after ${program}, which runs its arguments`;
    const before = argv[at - 1];
    if (typeof before === "string" && codeFlag.test(before)) {
      return `a placeholder is not allowed after ${before}, where the program expects code: pass the value as a separate word after the code`;
    }
    const hasScript = argv.slice(1, at).some((earlier) => !/^-|^\$/.test(String(earlier)));
    if (interpreters.test(program) && !hasScript) {
      return `a placeholder is not allowed where ${program} expects the name of a script: write the script before it`;
    }
  }
  return undefined;
}

/** Many other variables make a program run or load code. */
function envRefusal(env: Plain): string | undefined {
  if (env === null || typeof env !== "object") return "a placeholder cannot replace all of env: write a map";
  const other = Object.entries(env).find(
    ([name, value]) => allPlaceholders(value).length > 0 && !/^EVENT_[A-Z0-9_]+$/.test(name),
  );
  if (other === undefined) return undefined;
  return `placeholders are not allowed in ${other[0].slice(0, 60)}: name a variable with event data EVENT_NAME`;
}

/**
 * The first word of a rendered argv that would be parsed as an option because its leading `-` comes from the
 * event, or `undefined`. Words after `--` are safe.
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

/** All placeholders in a value, including nested values and keys. */
export function allPlaceholders(value: Plain): string[] {
  if (typeof value === "string") return placeholdersOf(value);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  if (Array.isArray(value)) return value.flatMap(allPlaceholders);
  return Object.entries(value).flatMap(([key, item]) => [...placeholdersOf(key), ...allPlaceholders(item)]);
}
