import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import { plainMap } from "../../base/schema.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import {
  breakerSchema,
  describeBreaker,
  describeReaction,
  describeRule,
  reactionSchema,
  ruleSchema,
} from "./describe.ts";
import { type Event, isServiceTag, masterSource, maxTagLength, tagOf } from "./events/mod.ts";
import { type RuleSet, refusedMessage } from "./rules/mod.ts";
import type { ReactorSession } from "./session.ts";

/** What the operations on the reactor need: they are answered by the master that reacts. */
export interface ReactorOperationDeps {
  session: ReactorSession;
  /** The rules in force, and why those of the files are not. */
  rules(): RuleSet;
  problem(): string | undefined;
  /** Name of this master, for people. */
  self: string;
  dir: string;
  clock: Pick<Clock, "now">;
}

const common = {
  master: v.string(),
  problem: v.exactOptional(v.string()),
  /** Which rules of these files are not in force, and what to do. */
  refused: v.exactOptional(v.string()),
};

function commonOf({ self, problem, rules }: ReactorOperationDeps): {
  master: string;
  problem?: string;
  refused?: string;
} {
  const [found, refused] = [problem(), refusedMessage(rules().refused)];
  return { master: self, ...defined({ problem: found, refused }) };
}

const nothing = v.strictObject({});

const statusSchema = v.object({
  ...common,
  since: v.string(),
  directory: v.string(),
  files: v.number(),
  rules: v.number(),
  digest: v.string(),
  breakers: v.array(breakerSchema),
  sources: v.array(
    v.object({ name: v.string(), running: v.boolean(), waiting: v.number(), in_hand: v.number() }),
  ),
});
/** The state of the reactor, as its master reports it. */
export type ReactorStatus = v.InferOutput<typeof statusSchema>;

export const showReactor = operation({
  name: "reactor.status",
  kind: "read",
  summary: "See how the reactor does",
  input: nothing,
  output: statusSchema,
  async run(deps: ReactorOperationDeps) {
    const { session } = deps;
    const { rules, digest, files } = deps.rules();
    return {
      ...commonOf(deps),
      since: rfc3339(session.since),
      directory: deps.dir,
      files: files.length,
      rules: rules.length,
      digest,
      breakers: session.breakers().map(describeBreaker),
      sources: Object.entries(await session.sources.positions()).map(([name, position]) => ({
        name,
        running: !session.sources.stopped(0).some((stopped) => stopped === name),
        waiting: position.waiting,
        in_hand: position.inHand,
      })),
    };
  },
});

export const listReactorRules = operation({
  name: "reactor.rules",
  kind: "read",
  summary: "List the rules in force, in the order they are tried",
  input: nothing,
  output: v.object({
    ...common,
    rules: v.array(ruleSchema),
  }),
  async run(deps: ReactorOperationDeps) {
    const open = new Map(deps.session.breakers().map((one) => [one.rule, one]));
    const { rules } = deps.rules();
    return {
      ...commonOf(deps),
      rules: rules.map((rule) => describeRule(rule, open.get(rule.name), deps.session.firingOf(rule.name))),
    };
  },
});

export const resetBreakers = operation({
  name: "reactor.reset",
  kind: "change",
  summary: "Close the breaker of a rule, or of all",
  input: v.strictObject({ rule: v.optional(v.pipe(v.string(), v.minLength(1, "must not be empty"))) }),
  output: v.object({ ...common, closed: v.array(v.string()) }),
  touches: ({ rule }) => (rule === undefined ? { fleet: true } : { rule }),
  async run(deps: ReactorOperationDeps, { rule }, call) {
    const closed = await deps.session.reset(rule);
    call.log.info("reactor breakers reset", { operator: operatorOf(call), rule, closed });
    return { ...commonOf(deps), closed };
  },
});

const said = v.strictObject({
  tag: v.pipe(v.string(), v.minLength(1), v.maxLength(maxTagLength)),
  source: v.optional(v.string()),
  data: v.optional(plainMap, {}),
  depth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
  at: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});

/** An event as an operator describes it. */
export type SaidEvent = v.InferInput<typeof said>;

export const testEvent = operation({
  name: "reactor.test",
  kind: "read",
  summary: "See what would happen for an event",
  input: v.strictObject({ event: said }),
  output: v.object({ ...common, ...reactionSchema.entries }),
  async run(deps: ReactorOperationDeps, { event }) {
    const explanation = deps.session.explain(eventOf(event, deps.clock.now()));
    return { ...commonOf(deps), ...describeReaction(explanation) };
  },
});

/** The event that an operator describes: one of the service when its tag is, and of its source otherwise. */
function eventOf({ tag, data, depth, ...rest }: v.InferOutput<typeof said>, now: number): Event {
  if (tagOf(...tag.split("/")) !== tag) {
    throw new SvcError(
      "bad_request",
      "event.tag: segments without blanks, with one / between them, as disk/full",
    );
  }
  const source = rest.source === undefined ? masterSource : encodePeelId(rest.source);
  if (rest.source !== undefined && source !== masterSource && !isPeelId(source)) {
    throw new SvcError(
      "bad_request",
      `event.source: ${JSON.stringify(rest.source.slice(0, 80))} is not a peel id`,
    );
  }
  const isService = isServiceTag(tag) || source === masterSource;
  return {
    id: "test",
    tag,
    source,
    origin: isService ? "service" : "peel",
    at: rest.at === undefined ? now : Date.parse(rest.at),
    depth,
    data,
  };
}
