import type { Plain } from "../../base/msgpack.ts";
import type { CallArgs, DataUse, ModuleFunction } from "../../host/modules/mod.ts";
import type { Event } from "./events/mod.ts";
import { allPlaceholders, fill, Unrendered } from "./rules/mod.ts";

/**
 * The arguments of a job with the values of an event. Each placeholder is a whole value here, which the loader
 * has checked; what a value may be follows from the use that the argument declares.
 *
 * @throws Unrendered naming the argument
 */
export function fillArguments(called: ModuleFunction, args: CallArgs, event: Event): Record<string, Plain> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      if (allPlaceholders(value).length === 0) return [name, fill(value, event)];
      const spec = Object.hasOwn(called.args, name) ? called.args[name] : undefined;
      return [name, fillOne({ name, use: spec?.data, isText: spec?.type === "string" }, value, event)];
    }),
  );
}

interface Argument {
  name: string;
  use: DataUse | undefined;
  isText: boolean;
}

function fillOne({ name, use, isText }: Argument, value: Plain, event: Event): Plain {
  const filled = fill(value, event);
  switch (use) {
    case undefined:
      throw new Unrendered(`${name} takes no event data`);
    case "words":
      return each(value, filled, (item, at) => wordOf(item, `${name}.${at}`));
    case "variables":
      return each(value, filled, (item, at) => wordOf(item, `${name}.${at}`));
    case "name":
      if (typeof filled === "string" && /^-|\p{Cc}/u.test(filled)) {
        throw new Unrendered(`${name} begins with - or has control characters, so it is not a name`);
      }
      return filled;
    case "input":
    case "text":
      return isText ? textOf(filled, name) : filled;
  }
}

/** Changes the items of a list or map in which the rule has a placeholder. */
function each(written: Plain, filled: Plain, change: (item: Plain, at: string) => Plain): Plain {
  if (written === null || typeof written !== "object" || filled === null || typeof filled !== "object") {
    throw new Unrendered("expected a list or a map");
  }
  const changed = Object.entries(written).map(([at, item]): [string, Plain] => {
    const now = Object.getOwnPropertyDescriptor(filled, at)?.value as Plain;
    return [at, allPlaceholders(item).length === 0 ? now : change(now, at)];
  });
  return Array.isArray(written) ? changed.map(([, item]) => item) : Object.fromEntries(changed);
}

/** One word or variable of a program. A zero byte would end it early. */
function wordOf(value: Plain, where: string): string {
  const text = textOf(value, where);
  if (text.includes("\0")) throw new Unrendered(`${where} has a zero byte`);
  return text;
}

function textOf(value: Plain, where: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Unrendered(`${where} is not a string, number or boolean`);
}
