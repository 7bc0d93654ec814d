import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import type { CallProgress, EndedRun, StateResult } from "../../host/modules/mod.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { Mask } from "./mask.ts";
import { withoutUrlSecrets } from "./message.ts";

type Map = { readonly [name: string]: Plain };

interface Called {
  readonly function: string;
  readonly args: Map;
}

/** A message to people. */
const message = (mask: Mask, text: string) => withoutUrlSecrets(mask.text(text));

/** The return of a function without secret values. */
export function maskReturn(mask: Mask, { function: called, args }: Called, result: JobReturn): JobReturn {
  const { return: value, error, ...rest } = result;
  const shown = (one: Plain) => {
    if (called === "file.read") return maskPart(mask, args, one);
    return called.startsWith("state.") ? maskStates(mask, one) : mask.plain(one);
  };
  return {
    ...rest,
    ...(value === undefined ? {} : { return: shown(value) }),
    ...(error === undefined ? {} : { error: message(mask, error) }),
  };
}

/** A file is read in parts, each of which may begin or end inside of a secret. */
function maskPart(mask: Mask, { offset = 0 }: Called["args"], value: Plain): Plain {
  if (!isMap(value) || typeof value.content !== "string") return mask.plain(value);
  const { content, ...rest } = value as Map & { content: string };
  const goesOn = { before: offset !== 0, behind: rest.next_offset !== undefined };
  return { ...(mask.plain(rest) as Map), content: mask.part(content, goesOn) };
}

/** A run without secret values, as it is reported. */
export function maskRun(mask: Mask, run: EndedRun): EndedRun {
  const problems = run.problems?.map((each) => ({ ...each, message: message(mask, each.message) }));
  return {
    ...run,
    states: run.states.map((state) => ({ ...state, ...maskedParts(mask, state) })),
    ...defined({ problems }),
  };
}

/** The data of an event without secret values. */
export const maskData = (mask: Mask, data: Map): Map => mask.plain({ ...data }) as Map;

export const maskProgress = (mask: Mask, progress: CallProgress): CallProgress => ({
  ...progress,
  current: message(mask, progress.current),
});

/** The fields of states and runs that hold ids, functions, places, files and counts, and not texts. */
const ownFields: ReadonlySet<string> = new Set([
  ...["id", "function", "sls", "at", "result", "skipped", "duration_ms"],
  ...["environment", "commit", "snapshot", "test", "stopped", "not_run", "host_calls", "summary"],
]);
const messageFields: ReadonlySet<string> = new Set(["comment", "warnings"]);
const isOfStates = (value: Map) =>
  (typeof value.id === "string" && typeof value.function === "string") || Array.isArray(value.states);

/** What a function on states returns. */
function maskStates(mask: Mask, value: Plain): Plain {
  if (Array.isArray(value)) return value.map((each) => maskStates(mask, each));
  if (!isMap(value) || !isOfStates(value as Map)) return mask.plain(value);
  return Object.fromEntries(
    Object.entries(value as Map).map(([name, inner]): [string, Plain] => {
      if (ownFields.has(name)) return [name, inner];
      if (name === "states") return [name, maskStates(mask, inner)];
      return [name, messageFields.has(name) ? maskMessages(mask, inner) : mask.plain(inner)];
    }),
  );
}

function maskMessages(mask: Mask, value: Plain): Plain {
  if (typeof value === "string") return message(mask, value);
  return Array.isArray(value) ? value.map((each) => maskMessages(mask, each)) : mask.plain(value);
}

/** The texts of a state. */
function maskedParts(
  mask: Mask,
  { name, comment, changes }: Pick<StateResult, "name" | "comment" | "changes">,
): Pick<StateResult, "name" | "comment" | "changes"> {
  return {
    name: mask.text(name),
    comment: message(mask, comment),
    changes: mask.plain({ ...changes }) as StateResult["changes"],
  };
}
