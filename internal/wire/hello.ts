import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode, mapEncoder } from "../base/msgpack.ts";
import { type RecordOf, record } from "../base/record.ts";
import { blob, lenient, optional, part } from "../base/record-kinds.ts";
import { failureOf } from "../bus/subjects/envelope.ts";
import { instanceField } from "./instance.ts";

// The request of a peel after each connect and each hint, and the answer of a master. Both sides take what they
// cannot read for absent, because either may be of a later version.

/** A hello is small; a longer one is not from a peel. */
const maxRequestBytes = 16_384;
/** Of the command keys that a peel says it knows; a fleet has two at most. */
const maxKeys = 16;
/** Commands in one answer; the others are sent again while the peel is alive. */
export const maxCommands = 256;
/** Statements in one answer; masters give fewer at once. */
const maxStatements = 64;
const maxReason = 500;
/** Releases in a hello, and in an answer. */
const maxReleases = 24;
/** Records of operators in one answer. */
const maxRecords = 64;

/** Values of one type, at most `max`; others are left out. */
const some = <T>(isOne: (value: unknown) => value is T, max: number) =>
  v.fallback(
    v.pipe(
      v.array(v.unknown()),
      v.transform((found): readonly T[] => found.filter(isOne).slice(0, max)),
    ),
    [],
  );
const isText = (value: unknown) => typeof value === "string";
const isBytes = (value: unknown) => value instanceof Uint8Array;
/** Milliseconds since the Unix epoch; NaN when absent. */
const moment = {
  read: v.fallback(
    v.pipe(
      v.string(),
      v.transform((text) => Date.parse(text)),
    ),
    Number.NaN,
  ),
  write: rfc3339,
};

const requestFields = {
  /** Of the executable of the peel. */
  version: v.fallback(v.string(), ""),
  sentAt: ["sent_at", moment],
  /** Of its settings; 0 for none. */
  settingsVersion: ["settings_version", v.fallback(v.number(), 0)],
  /** The public keys whose commands the peel accepts; masters wait for one before they sign with it. */
  commandKeys: ["knows_command_keys", some(isText, maxKeys)],
  /** Of its administrators. */
  administratorsVersion: ["administrators_version", lenient(v.number())],
  /** It obeys operators only, so it runs released files only. */
  insists: lenient(v.literal(true)),
  /** The greatest release of each environment that it took, whole. */
  releases: optional(some(isBytes, maxReleases)),
  /** The process that sent it. */
  instance: instanceField,
} as const;

/** The request; a malformed one is an SvcError `bad_request`. */
export const { encode: encodeHello, decode: decodeHello } = record("hello", requestFields, {
  isOpen: true,
  limits: { bytes: maxRequestBytes, elements: maxRequestBytes },
  malformed: () => new SvcError("bad_request", "a hello must be a map"),
});

/** The same for all peels; a master encodes it once. */
const sharedFields = {
  /** The bootstrap document, which its reader validates. */
  clusterInfo: ["cluster_info", optional(v.unknown())],
  /** The snapshot of the environment `base`, and the signed statement that proves it. */
  states: lenient(part({ base: lenient(v.string()), statement: lenient(blob) }, { isOpen: true }).read),
  /** The newest entry of the audit, signed, which the peel remembers. */
  audit: lenient(blob),
  /** Over what time the whole fleet is to connect again after the bus was away. */
  spreadMs: ["spread_ms", optional(v.unknown())],
} as const;
/** For one peel. */
const ownFields = {
  serverTime: ["server_time", moment],
  /** Sealed and signed, unless the peel has this version. */
  settings: lenient(blob),
  /** Why there are no newer settings. */
  settingsError: [
    "settings_error",
    lenient(
      v.pipe(
        v.string(),
        v.transform((text) => text.slice(0, maxReason)),
      ),
    ),
  ],
  /** Signed statements that change the administrators of the peel. */
  administrators: optional(some(isBytes, maxStatements)),
  /** The newest release of each environment, for a peel that insists. */
  releases: optional(some(isBytes, maxReleases)),
  /** The records that prove them, and those that changed. */
  operatorRecords: ["operator_records", optional(some(isBytes, maxRecords))],
  /** Signed commands that the peel missed, oldest first. */
  jobs: some(isBytes, maxCommands),
  /** The bus has no facts of the peel: it lost them, or they are on their way. */
  lacksFacts: ["lacks_facts", lenient(v.literal(true))],
  /** Something could not be read, so the peel sends another hello. */
  incomplete: lenient(v.literal(true)),
} as const;

const shared = record("hello", sharedFields);
const own = record("hello", ownFields);
const answer = record(
  "hello",
  { ...sharedFields, ...ownFields },
  {
    isOpen: true,
    malformed: () => new SvcError("unavailable", "the answer of the masters is not a map"),
  },
);
type Shared = RecordOf<typeof sharedFields>;
/** What an answer has for one peel. */
export type HelloOwn = RecordOf<typeof ownFields>;
export type HelloAnswer = ReturnType<typeof answer.decode>;

/** Encodes answers. What is shared is encoded again only when a part of it is another object or number. */
export function createHelloEncoder(): (all: Shared, one: HelloOwn) => Uint8Array {
  let last: { all: Shared; encodeWith: ReturnType<typeof mapEncoder> } | undefined;
  const names = Object.keys(sharedFields) as (keyof Shared)[];
  return (all, one) => {
    const before = last?.all;
    if (last === undefined || names.some((name) => all[name] !== before?.[name])) {
      last = { all, encodeWith: mapEncoder(shared.write(all)) };
    }
    return last.encodeWith(own.write(one));
  };
}

/** @throws SvcError `rate_limited` or `unavailable` when the masters refused */
export function openHelloAnswer(bytes: Uint8Array): HelloAnswer {
  const value = decode(bytes);
  const failed = failureOf(value);
  if (failed === undefined) return answer.parse(value);
  const kind = failed.code === "rate_limited" ? "rate_limited" : "unavailable";
  throw new SvcError(kind, `the masters refused: ${failed.message.slice(0, maxReason)}`);
}
