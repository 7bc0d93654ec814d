import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { checkCall } from "../../host/modules/registry.ts";
import { isPeelId } from "../../identity/peel-id.ts";
import type { JobRequest } from "../jobs/dispatch.ts";
import { optionLikeWord } from "./argument-policy.ts";
import { type Event, enrollmentTag } from "./event.ts";
import { fill, Unrendered } from "./placeholder.ts";
import type { Action, RuleTarget } from "./rule.ts";

/** What an action does for one event. */
export type Rendered =
  | { readonly kind: "job"; readonly request: JobRequest }
  | { readonly kind: "approve"; readonly enrollment: string }
  | { readonly kind: "emit"; readonly tag: string; readonly data: Record<string, Plain> }
  | {
      readonly kind: "webhook";
      readonly url: string;
      readonly tokenFile?: string;
      readonly body: Plain;
    }
  /** Nothing: drop cause `not_rendered`. The reason is one line that repeats no value of the event. */
  | { readonly kind: "refused"; readonly reason: string };

/** What is rendered is bounded, as a rule may name a large value more than once. */
const maxBytes = 64 * 1024;
/** Messages of the bus are read to a depth of 32. */
const maxDepth = 30;

/**
 * Puts the values of an event into an action. The result differs from the rule in the values of placeholders
 * alone, and is checked as if a person had asked for it. A target is never wider than the rule says.
 */
export function render(action: Action, event: Event): Rendered {
  try {
    const rendered = renderAction(action, event);
    if (isDeeper(rendered, maxDepth)) {
      return { kind: "refused", reason: "with the values of the event it is nested too deeply" };
    }
    if (encode(rendered).length <= maxBytes) return rendered;
    return {
      kind: "refused",
      reason: `with the values of the event it is larger than ${maxBytes / 1024} KiB`,
    };
  } catch (thrown) {
    if (thrown instanceof Unrendered || thrown instanceof SvcError) {
      return { kind: "refused", reason: thrown.message };
    }
    throw thrown;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

function renderAction(action: Action, event: Event): Rendered {
  switch (action.kind) {
    case "job": {
      const args = fill(action.args, event) as Record<string, Plain>;
      checkCall(action.function, args);
      const word = optionLikeWord(action, args);
      if (word !== undefined) throw new Unrendered(`${word} would be read as an option of the program`);
      return jobOf(action, event, action.function, args);
    }
    case "states": {
      const { sls, test } = action;
      if (sls.length === 0) return jobOf(action, event, "state.highstate", { test });
      return jobOf(action, event, "state.sls", { mods: [...sls], test });
    }
    case "approve":
      return { kind: "approve", enrollment: enrollmentOf(event) };
    case "emit":
      return { kind: "emit", tag: action.tag, data: fill(action.data, event) as Record<string, Plain> };
    case "webhook": {
      const { id, tag, source, at, depth, data } = event;
      const body =
        action.body === undefined
          ? { id, tag, source, at: rfc3339(at), depth, data }
          : fill(action.body, event);
      return {
        kind: "webhook",
        url: action.url,
        ...defined({ tokenFile: action.tokenFile }),
        body: body as Plain,
      };
    }
  }
}

function jobOf(
  { target, timeout }: { target: RuleTarget; timeout?: string },
  event: Event,
  name: string,
  args: Record<string, Plain>,
): Rendered {
  const whom = "expression" in target ? { target: target.expression } : { targets: [peelOf(event)] };
  const request = { ...whom, function: name, args, ...defined({ timeout }) };
  return { kind: "job", request };
}

function peelOf({ source, tag }: Event): string {
  if (tag === enrollmentTag) {
    throw new Unrendered(
      "the source of an enrollment is what the applicant calls itself, which may be a member",
    );
  }
  if (isPeelId(source)) return source;
  throw new Unrendered("source is no peel, so that there is nobody to target");
}

function enrollmentOf({ tag, origin, data }: Event): string {
  if (tag !== enrollmentTag || origin !== "service") throw new Unrendered("the event is no enrollment");
  if (data.trust !== "ok" && data.trust !== "-") {
    throw new Unrendered("the trust of the enrollment is a mismatch, which only a person may approve");
  }
  if (typeof data.id !== "string") throw new Unrendered("data.id is not in the event");
  return data.id;
}
