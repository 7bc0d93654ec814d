import * as v from "valibot";
import { encodeBase64Url } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { described, integer, plainMap, timestamp, titled } from "../../base/schema.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { readRange, streamEnds } from "../../bus/streams/mod.ts";
import { feed, operation } from "../operation/mod.ts";
import { auditStream } from "./append.ts";
import { entryOutcomes, ways } from "./entry.ts";
import { beginningAt, followEntries } from "./follow.ts";
import type { AuditMemory } from "./memory.ts";
import {
  type Filter,
  listEntries,
  type ReadDeps,
  type ShownEntry,
  showEntry,
  shownOutcomes,
} from "./read.ts";
import type { Verification } from "./verification.ts";

/** What the operations on the audit need. */
export interface AuditDeps {
  bus: Bus;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  /** `audit.retention`, milliseconds. */
  retentionMs: number;
  memory: Pick<AuditMemory, "current" | "refresh">;
  /** What this master has verified of the chain. */
  verification: Verification;
  clock: Clock;
}

const maxListed = 500;
/** Of one page of the chain: it must fit into one message. */
const maxChainBytes = 512 * 1024;
const maxChained = 1_000;

const sequence = v.pipe(
  v.string("must be the number of an entry"),
  v.regex(/^[1-9]\d{0,14}$/, "must be the number of an entry"),
  v.metadata({ pattern: "^[1-9][0-9]{0,14}$" }),
);
/** Behind an entry, or before the first one. */
const place = v.pipe(
  v.string(),
  v.regex(/^(?:0|[1-9]\d{0,14})$/, "must be the number of an entry, or 0"),
  v.metadata({ pattern: "^(0|[1-9][0-9]{0,14})$" }),
);
const outside = `must be 1 to ${maxListed}`;

/** The fields that choose entries. */
const choice = {
  since: v.optional(described(timestamp, "Only entries of this time or later")),
  until: v.optional(described(timestamp, "Only entries of this time or earlier")),
  // Not `operator`: over the bus that names the caller.
  by: v.optional(described(v.string(), "Only what this operator asked for")),
  action: v.optional(described(v.string(), "Only this operation; with `*` at its end all that begin so")),
  peel: v.optional(described(v.string(), "Only what names this peel")),
};

/** What a request has of them. */
type Chosen = { [Name in keyof typeof choice]?: string | undefined } & Pick<Filter, "outcome">;

const view = titled(
  "AuditEntry",
  v.object({
    seq: described(integer, "Its number; rises by one"),
    at: timestamp,
    master: described(v.string(), "The master that decided"),
    operator: v.string(),
    key: described(v.string(), "The public key that signed the request; empty where none did"),
    via: v.picklist(ways),
    action: described(v.string(), "The operation"),
    subjects: described(plainMap, "What it is about; `begun` is the entry whose end this is"),
    outcome: described(v.picklist(shownOutcomes), "`unknown` is what began, and has no end"),
    reason: v.exactOptional(v.string()),
    request_id: v.string(),
    request_digest: described(v.string(), "SHA-256 of the request, in hexadecimal"),
    key_of_master: described(v.string(), "The command key that signed the entry"),
    genuine: described(v.boolean(), "Whether that is a key of this fleet, and its signature is right"),
  }),
);

function viewOf({ at, requestId, requestDigest, keyOfMaster, ...rest }: ShownEntry) {
  const { seq, master, operator, key, via, action, subjects, outcome, reason, genuine } = rest;
  return {
    ...{ seq, at: rfc3339(at), master, operator, key, via, action, subjects: { ...subjects }, outcome },
    ...defined({ reason }),
    request_id: requestId,
    request_digest: Buffer.from(requestDigest).toString("hex"),
    key_of_master: keyOfMaster,
    genuine,
  };
}

const reading = ({ bus, keys, clock }: AuditDeps): ReadDeps => ({ bus, keys, now: clock.now });

export const listAudit = operation({
  name: "audit.list",
  kind: "read",
  summary: "List the entries of the audit, newest first",
  description:
    "A page looks at a limited number of entries: with a filter it may be short, or empty, before the last.",
  scope: { kind: "audit", action: "read" },
  input: v.strictObject({
    ...choice,
    outcome: v.optional(described(v.picklist(shownOutcomes), "Only entries with this outcome")),
    limit: v.optional(
      v.pipe(
        v.number(outside),
        v.integer(outside),
        v.minValue(1, outside),
        v.maxValue(maxListed, outside),
        v.description("Maximum number of entries"),
      ),
      100,
    ),
    cursor: v.optional(v.pipe(sequence, v.description("Where the page starts, from the previous page"))),
  }),
  output: v.object({ entries: v.array(view), next: v.exactOptional(v.string()) }),
  async run(deps: AuditDeps, { limit, cursor, ...requested }) {
    const before = cursor === undefined ? undefined : Number(cursor);
    const { entries, next } = await listEntries(reading(deps), filterOf(requested), { limit, before });
    return { entries: entries.map(viewOf), ...(next === undefined ? {} : { next: String(next) }) };
  },
});

export const getAudit = operation({
  name: "audit.show",
  kind: "read",
  summary: "Get an entry of the audit",
  scope: { kind: "audit", action: "read" },
  input: v.strictObject({ seq: described(sequence, "Number of the entry") }),
  output: v.object({ entry: view }),
  run: async (deps: AuditDeps, { seq }) => ({ entry: viewOf(await showEntry(reading(deps), Number(seq))) }),
});

export const readChain = operation({
  name: "audit.chain",
  kind: "read",
  summary: "Read the stored entries of the audit, to verify them",
  scope: { kind: "audit", action: "verify" },
  input: v.strictObject({ from: described(v.pipe(integer, v.minValue(1)), "The first entry of the page") }),
  output: v.object({
    entries: v.array(
      v.object({ seq: integer, stored: described(v.string(), "Its bytes, as base64url without padding") }),
    ),
    first: described(integer, "The oldest entry that is stored"),
    last: described(integer, "The newest one"),
    keys: described(v.array(v.string()), "The public command keys that the fleet has or had"),
    kept_since: described(timestamp, "What was written since then has not expired"),
    remembered: v.exactOptional(
      described(
        v.object({ first: integer, last: integer, last_hash: v.string() }),
        "What this master remembers: the oldest entry that has not expired, and the newest with its SHA-256",
      ),
    ),
    next: v.exactOptional(described(integer, "Where the next page begins")),
  }),
  async run({ bus, keys, retentionMs, memory, clock }: AuditDeps, { from }) {
    if (from === 1) await memory.refresh();
    const { current: known } = memory;
    const { first, last } = await streamEnds(bus, auditStream);
    const found = from > last ? [] : await readRange(bus, auditStream, { from, count: maxChained });
    let bytes = 0;
    const page = found.filter(({ data }, index) => {
      bytes += data.length;
      return index === 0 || bytes <= maxChainBytes;
    });
    const end = page.at(-1)?.sequence ?? last;
    return {
      entries: page.map(({ sequence: seq, data }) => ({ seq, stored: encodeBase64Url(data) })),
      ...{ first, last, keys: [...keys()], kept_since: rfc3339(clock.now() - retentionMs) },
      ...(known === undefined
        ? {}
        : { remembered: { first: known.first.seq, last: known.last.seq, last_hash: known.last.hash } }),
      ...(end < last ? { next: end + 1 } : {}),
    };
  },
});

const maxReported = 20;

export const verifyAudit = operation({
  name: "audit.verify",
  kind: "read",
  summary: "Verify the stored audit on the answering master",
  description:
    "Each request verifies some entries more, until `done`; later ones only what was written since, and everything again after an hour, or with `again`. It says what a master thinks: `svc audit verify` verifies with a key of your own, and compares with peels.",
  input: v.strictObject({
    again: v.optional(described(v.picklist(["yes"]), "Begin with the oldest entry again")),
  }),
  output: titled(
    "AuditVerification",
    v.object({
      entries: described(integer, "How many were verified"),
      first: described(integer, "The oldest entry that is stored"),
      verified: described(integer, "The last entry that was verified; 0 before the first"),
      last: described(integer, "The newest entry that is stored"),
      began_at: described(timestamp, "When this master began with the oldest entry"),
      done: described(v.boolean(), "Whether all entries are verified"),
      found: described(integer, "How many problems were found so far"),
      problems: described(
        v.array(v.object({ seq: integer, problem: v.string() })),
        `The first of them, at most ${maxReported}`,
      ),
    }),
  ),
  async run({ verification }: AuditDeps, { again }) {
    const { beganAt, problems, ...state } = await verification.check(again !== undefined);
    return { ...state, began_at: rfc3339(beganAt), problems: problems.slice(0, maxReported) };
  },
});

export const streamAudit = operation({
  name: "audit.follow",
  kind: "read",
  summary: "Follow the audit",
  description:
    "Server-sent events. `entry`: each entry as `AuditEntry`, oldest first, with the outcome that it was written with; its `id` is its number. Without `since` and without `after` it begins now. A comment comes every 30 seconds. A client that was cut off continues with `Last-Event-ID`, at any master.",
  scope: { kind: "audit", action: "read" },
  input: v.strictObject({
    since: choice.since,
    ...{ by: choice.by, action: choice.action, peel: choice.peel },
    outcome: v.optional(described(v.picklist(entryOutcomes), "Only entries with this outcome")),
    after: v.optional(
      described(place, "Begin behind the entry with this number; it counts more than `since`"),
    ),
  }),
  output: feed,
  async run(deps: AuditDeps, { after, ...requested }, { log }) {
    const from = reading(deps);
    const filter = filterOf(requested);
    const next = after === undefined ? await beginningAt(from, filter.since) : Number(after) + 1;
    const { clock } = deps;
    return {
      start(sink) {
        const stopping = new AbortController();
        followEntries(from, { filter, next, sink, clock, show: viewOf }, stopping.signal)
          // It never ends by itself.
          .catch((thrown) => {
            const reason = describeError(thrown);
            if (!stopping.signal.aborted) log.debug("a reader of the audit is cut off", { reason });
            sink.close(reason);
          });
        return () => stopping.abort(new Error("the reader left"));
      },
    };
  },
});

/** The filter of a request. */
function filterOf({ since, until, by, peel, ...rest }: Chosen): Filter {
  return {
    ...rest,
    operator: by,
    since: timeOf(since),
    until: timeOf(until),
    peel: peel === undefined ? undefined : encodePeelId(peel),
  };
}

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);
