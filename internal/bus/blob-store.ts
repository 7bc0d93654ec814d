import { consumerOpts, headers, type MsgHdrs } from "nats";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";

const requestTimeoutMs = 5_000;
/** Error code of JetStream for a failed expectation on the last sequence of a subject. */
const wrongLastSequence = 10071;
const notFound = 404;
/** Error codes of JetStream for a message that is not there any more. */
const gone = [10037, 10043, 10057];
const headName = "head";
const digestPattern = /^[0-9a-f]{64}$/;

/** What the head points at, and who moved it there. */
export interface Head {
  /** Hexadecimal SHA-256 of a blob. */
  digest: string;
  /** Fencing token of the holder that wrote it. */
  token: number;
  /** What its writer signed, as it was stored; the bus does not vouch for it. */
  statement?: Uint8Array;
  revision: number;
}

/**
 * Blobs by their SHA-256, and one pointer to a blob, in an object store. They are objects as the NATS
 * document ADR-20 describes them, each in one chunk, so that the tools of NATS can list and read them; the
 * name of a blob is its digest, and the pointer is the object `head`.
 */
export interface BlobStore {
  /** Stores a blob; one that is there already is replaced by the same bytes. @throws SvcError `storage` */
  put(digest: string, data: Uint8Array): Promise<void>;
  /** @returns the bytes as they are stored, which the caller verifies. @throws SvcError `storage` */
  get(digest: string): Promise<Uint8Array | undefined>;
  /** The same with the place of the message, which a later `put` of the same bytes changes. */
  find(digest: string): Promise<{ data: Uint8Array; place: number } | undefined>;
  /** Bytes that the store takes, with everything around them. @throws SvcError `storage` */
  size(): Promise<number>;
  /** @throws SvcError `storage` */
  head(): Promise<Head | undefined>;
  /**
   * Points the head at a blob, if `revision` is still its latest; 0 for a store without a head.
   *
   * @returns the new revision, or `undefined` when somebody else moved the head. @throws SvcError `storage`
   */
  moveHead(
    to: { digest: string; size: number; token: number; statement?: Uint8Array },
    revision: number,
  ): Promise<number | undefined>;
  /** Calls `run` when the head was written by anybody; returns the way to stop it. */
  onHead(run: () => void): () => void;
  /** Every blob with the places of its messages in the stream. @throws SvcError `storage` */
  list(): Promise<Map<string, number[]>>;
  /** Removes exactly this message; whatever was stored under the same name since stays. */
  remove(place: number): Promise<void>;
}

interface ApiError {
  code: number;
  err_code?: number;
  description?: string;
}

/** Opens an object store that was provisioned before; no request is sent. */
export function openBlobStore(bus: Bus, name: string): BlobStore {
  const chunkSubject = (digest: string) => `$O.${name}.C.${checkedDigest(digest)}`;
  const metaSubject = (object: string) => `$O.${name}.M.${paddedBase64(Buffer.from(object))}`;
  const api = (verb: string) => `$JS.API.STREAM.MSG.${verb}.OBJ_${name}`;
  const attempt = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (cause) {
      throw new SvcError("storage", `the object store ${name} is not available: is the bus up?`, { cause });
    }
  };
  const ask = async (subject: string, data: Uint8Array | string, head?: MsgHdrs): Promise<unknown> => {
    const options = { timeout: requestTimeoutMs, ...(head === undefined ? {} : { headers: head }) };
    return (await bus.nats.request(subject, data, options)).json();
  };
  /** A write that takes the place of what was stored under the subject. */
  const write = async (subject: string, data: Uint8Array, expected?: number): Promise<number | undefined> => {
    const head = headers();
    head.set("Nats-Rollup", "sub");
    if (expected !== undefined) head.set("Nats-Expected-Last-Subject-Sequence", `${expected}`);
    const { seq, error } = (await ask(subject, data, head)) as { seq?: number; error?: ApiError };
    if (error?.err_code === wrongLastSequence) return undefined;
    if (seq === undefined || error !== undefined) throw new Error(error?.description ?? "no acknowledgement");
    return seq;
  };
  const last = async (subject: string): Promise<{ seq: number; data: Buffer } | undefined> => {
    const answer = await ask(api("GET"), JSON.stringify({ last_by_subj: subject }));
    const { message, error } = answer as { message?: { seq: number; data?: string }; error?: ApiError };
    if (error?.code === notFound) return undefined;
    if (message === undefined) throw new Error(error?.description ?? "an answer without a message");
    return { seq: message.seq, data: Buffer.from(message.data ?? "", "base64") };
  };
  const describe = (object: string, digest: string, size: number, metadata?: Record<string, string>) =>
    Buffer.from(
      JSON.stringify({
        name: object,
        bucket: name,
        nuid: digest,
        size,
        chunks: size === 0 ? 0 : 1,
        digest: `SHA-256=${paddedBase64(Buffer.from(digest, "hex"))}`,
        mtime: rfc3339(bus.clock.now()),
        options: { max_chunk_size: Math.max(size, 1) },
        ...(metadata === undefined ? {} : { metadata }),
      }),
    );
  return {
    put: (digest, data) =>
      attempt(async () => {
        await write(chunkSubject(digest), data);
        await write(metaSubject(digest), describe(digest, digest, data.length));
      }),
    get: (digest) => attempt(async () => (await last(chunkSubject(digest)))?.data),
    find: (digest) =>
      attempt(async () => {
        const found = await last(chunkSubject(digest));
        return found === undefined ? undefined : { data: found.data, place: found.seq };
      }),
    size: () =>
      attempt(async () => {
        const answer = await ask(`$JS.API.STREAM.INFO.OBJ_${name}`, "");
        const { state, error } = answer as { state?: { bytes?: number }; error?: ApiError };
        if (state?.bytes === undefined) throw new Error(error?.description ?? "an answer without a state");
        return state.bytes;
      }),
    head: () =>
      attempt(async () => {
        const found = await last(metaSubject(headName));
        return found === undefined ? undefined : { ...readHead(found.data), revision: found.seq };
      }),
    moveHead: ({ digest, size, token, statement }, revision) =>
      attempt(() => {
        const data = describe(headName, checkedDigest(digest), size, {
          token: String(token),
          ...(statement === undefined ? {} : { statement: Buffer.from(statement).toString("base64url") }),
        });
        return write(metaSubject(headName), data, revision);
      }),
    onHead(run) {
      const subscription = bus.nats.subscribe(metaSubject(headName), { callback: () => run() });
      return () => subscription.unsubscribe();
    },
    list: () =>
      attempt(async () => {
        const found = new Map<string, number[]>();
        if ((await last(metaSubject(headName))) === undefined) return found;
        const options = consumerOpts();
        options.orderedConsumer();
        options.deliverAll();
        options.headersOnly();
        options.bindStream(`OBJ_${name}`);
        const subscription = await bus.nats.jetstream().subscribe(`$O.${name}.>`, options);
        for await (const { subject, seq, info } of subscription) {
          const digest = digestOf(subject);
          if (digest !== undefined) found.set(digest, [...(found.get(digest) ?? []), seq]);
          if (info.pending === 0) break;
        }
        subscription.unsubscribe();
        return found;
      }),
    remove: (place) =>
      attempt(async () => {
        const answer = await ask(api("DELETE"), JSON.stringify({ seq: place, no_erase: true }));
        const { success, error } = answer as { success?: boolean; error?: ApiError };
        if (success === true || gone.includes(error?.err_code ?? 0)) return;
        throw new Error(error?.description ?? "a message was not removed");
      }),
  };
}

/** base64url with its padding, as the document has it. */
function paddedBase64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

function digestOf(subject: string): string | undefined {
  const [, , kind, token = ""] = subject.split(".");
  const digest = kind === "C" ? token : Buffer.from(token, "base64url").toString();
  return digestPattern.test(digest) ? digest : undefined;
}

/** Digests come from other hosts, and become subjects. */
function checkedDigest(digest: string): string {
  if (digestPattern.test(digest)) return digest;
  throw new SvcError("bad_request", "not a SHA-256 digest");
}

function readHead(data: Uint8Array): Omit<Head, "revision"> {
  const meta: unknown = JSON.parse(new TextDecoder().decode(data));
  const { nuid, metadata } = meta as { nuid?: unknown; metadata?: { token?: unknown; statement?: unknown } };
  const token = Number(metadata?.token);
  const statement = metadata?.statement;
  return {
    digest: checkedDigest(String(nuid)),
    token: Number.isSafeInteger(token) ? token : 0,
    ...(typeof statement === "string" ? { statement: Buffer.from(statement, "base64url") } : {}),
  };
}
