import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { isPeelId } from "../../base/names/peel-id.ts";
import { checkCall, functionNamed } from "../../host/modules/mod.ts";
import type { JobRequest } from "../jobs/mod.ts";
import { type Event, enrollmentTag } from "./events/mod.ts";
import { fillArguments } from "./fill-arguments.ts";
import { type Action, fill, type RuleTarget, Unrendered } from "./rules/mod.ts";

/** An action, rendered for one event. */
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
  /** Dropped with the cause `not_rendered`. The reason is one line that does not repeat event data. */
  | { readonly kind: "refused"; readonly reason: string };

/** Limit of the rendered size: a rule may use a large value more than once. */
const maxBytes = 64 * 1024;
/** Messages on the bus are decoded to a depth of 32. */
const maxDepth = 30;

/**
 * Renders an action with the values of an event. The result differs from the rule only in the values of
 * placeholders, and is checked like a request of an operator. A target is never wider than in the rule.
 */
export function render(action: Action, event: Event): Rendered {
  try {
    const rendered = renderAction(action, event);
    if (isDeeper(rendered, maxDepth)) {
      return { kind: "refused", reason: "nested too deeply after inserting the event data" };
    }
    if (encode(rendered).length <= maxBytes) return rendered;
    return {
      kind: "refused",
      reason: `larger than ${maxBytes / 1024} KiB after inserting the event data`,
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
      const args = action.unsafe
        ? (fill(action.args, event) as Record<string, Plain>)
        : fillArguments(functionNamed(action.function), action.args, event);
      checkCall(action.function, args);
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
  const targets = "expression" in target ? { target: target.expression } : { targets: [peelOf(event)] };
  const request = { ...targets, function: name, args, ...defined({ timeout }) };
  return { kind: "job", request };
}

function peelOf({ source, tag }: Event): string {
  if (tag === enrollmentTag) {
    throw new Unrendered(
      "the source of an enrollment is claimed by the applicant, and may be the id of a member",
    );
  }
  if (isPeelId(source)) return source;
  throw new Unrendered("source is not a peel, so it cannot be a target");
}

function enrollmentOf({ tag, origin, data }: Event): string {
  if (tag !== enrollmentTag || origin !== "service") throw new Unrendered("the event is not an enrollment");
  if (data.trust !== "ok" && data.trust !== "-") {
    throw new Unrendered("the enrollment has a trust mismatch, which only an operator may approve");
  }
  if (typeof data.id !== "string") throw new Unrendered("data.id is not in the event");
  return data.id;
}
