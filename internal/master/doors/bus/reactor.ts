import * as v from "valibot";
import { type Clock, rfc3339 } from "../../../base/clock.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { decode, encode, type Plain } from "../../../base/msgpack.ts";
import type { Bus } from "../../../bus/connect.ts";
import { mastersQueue, reactorSubject } from "../../../bus/subjects.ts";
import type { OpenBreaker } from "../../../fleet/reactor/breaker.ts";
import { type Event, isServiceTag, masterSource, maxTagLength, tagOf } from "../../../fleet/reactor/event.ts";
import type { RuleSet } from "../../../fleet/reactor/load.ts";
import type { ReactorSession } from "../../../fleet/reactor/session.ts";
import { encodePeelId, isPeelId } from "../../../identity/peel-id.ts";
import { operatorOf } from "./job-message.ts";
import { serveOperators } from "./operator-request.ts";
import { describeReaction, describeRule } from "./reactor-message.ts";

export interface ReactorDoors {
  bus: Pick<Bus, "serve">;
  session: ReactorSession;
  /** The rules in force, and why those of the files are not. */
  rules(): RuleSet;
  problem(): string | undefined;
  /** Name of this master, for people. */
  self: string;
  dir: string;
  clock: Clock;
  log: Log;
}

/** Answers operators about the reactor, on the master that reacts. Every answer is a MessagePack map. */
export function serveReactor(doors: ReactorDoors): { stop(): void } {
  const { session, clock } = doors;
  const common = () => {
    const problem = doors.problem();
    return { ok: true, master: doors.self, ...(problem === undefined ? {} : { problem }) };
  };
  const serving = [
    serveOperators(doors, reactorSubject("status"), mastersQueue, async () => {
      const { rules, digest, files } = doors.rules();
      return encode({
        ...common(),
        since: rfc3339(session.since),
        directory: doors.dir,
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
      });
    }),
    serveOperators(doors, reactorSubject("rules"), mastersQueue, async () => {
      const open = new Map(session.breakers().map((one) => [one.rule, one]));
      return encode({
        ...common(),
        rules: doors.rules().rules.map((rule) => describeRule(rule, open.get(rule.name))),
      });
    }),
    serveOperators(doors, reactorSubject("reset"), mastersQueue, async (data, { log }) => {
      const request = decode(data);
      const { rule } = parse(resetRequest, request);
      const closed = await session.reset(rule);
      log.info("reactor breakers reset", { operator: operatorOf(request), rule, closed });
      return encode({ ...common(), closed });
    }),
    serveOperators(doors, reactorSubject("test"), mastersQueue, async (data) => {
      const { event } = parse(testRequest, decode(data));
      const told = session.explain(eventOf(event, clock.now()));
      return encode({ ...common(), ...describeReaction(told) });
    }),
  ];
  return {
    stop() {
      for (const one of serving) one.stop();
    },
  };
}

const resetRequest = v.object({ rule: v.optional(v.pipe(v.string(), v.minLength(1))) });

const testRequest = v.object({
  event: v.object({
    tag: v.pipe(v.string(), v.minLength(1), v.maxLength(maxTagLength)),
    source: v.optional(v.string()),
    data: v.optional(
      v.custom<Record<string, Plain>>(
        (value) =>
          typeof value === "object" &&
          value !== null &&
          !Array.isArray(value) &&
          !(value instanceof Uint8Array),
        "a map",
      ),
      {},
    ),
    depth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
    at: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  }),
});

/** The event that an operator describes: one of the service when its tag is, and of its source otherwise. */
function eventOf(said: v.InferOutput<typeof testRequest>["event"], now: number): Event {
  const { tag, data, depth } = said;
  if (tagOf(...tag.split("/")) !== tag) {
    throw new SvcError(
      "bad_request",
      "event.tag: segments without blanks, with one / between them, as disk/full",
    );
  }
  const source = said.source === undefined ? masterSource : encodePeelId(said.source);
  if (said.source !== undefined && source !== masterSource && !isPeelId(source)) {
    throw new SvcError(
      "bad_request",
      `event.source: ${JSON.stringify(said.source.slice(0, 80))} is not a peel id`,
    );
  }
  const isService = isServiceTag(tag) || source === masterSource;
  return {
    id: "test",
    tag,
    source,
    origin: isService ? "service" : "peel",
    at: said.at === undefined ? now : Date.parse(said.at),
    depth,
    data,
  };
}

function parse<Schema extends v.GenericSchema>(schema: Schema, request: Plain): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, request);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw new SvcError(
    "bad_request",
    `${v.getDotPath(issue) ?? "the request"}: expected ${issue.expected ?? "another value"}`,
  );
}

function describeBreaker({ rule, openedAt, openUntil }: OpenBreaker): Record<string, Plain> {
  return { rule, opened_at: rfc3339(openedAt), open_until: rfc3339(openUntil) };
}
