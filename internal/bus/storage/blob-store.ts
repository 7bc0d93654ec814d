import { consumerOpts } from "nats";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { deleteMessage, lastMessage, orStorageError, storeMessage, streamState } from "../jetstream/mod.ts";

const headName = "head";
const digestPattern = /^[0-9a-f]{64}$/;
const headForm = v.object({
  nuid: v.pipe(v.string(), v.regex(digestPattern)),
  deleted: v.optional(v.literal(false)),
  metadata: v.optional(v.object({ token: v.optional(v.string()), statement: v.optional(v.string()) })),
});

/** What the head points to, and who moved it there. */
export interface Head {
  /** Hexadecimal SHA-256 of a blob; absent when the object `head` is not a pointer, but an ordinary object. */
  digest?: string;
  /** Fencing token of the holder that wrote it. */
  token: number;
  /** What its writer signed, as it was stored; the bus does not verify it. */
  statement?: Uint8Array;
  revision: number;
}

/**
 * Blobs by their SHA-256, and one pointer to a blob, in an object store. They are objects as the NATS
 * document ADR-20 describes them, each in one chunk, so that the tools of NATS can list and read them. The
 * name of a blob is its digest. The pointer is the object `head`.
 */
export interface BlobStore {
  /** Stores a blob; an existing one is replaced by the same bytes. @throws SvcError `storage` */
  put(digest: string, data: Uint8Array): Promise<void>;
  /** @returns the bytes as they are stored, which the caller verifies. @throws SvcError `storage` */
  get(digest: string): Promise<Uint8Array | undefined>;
  /** The same with the sequence of the message, which a later `put` of the same bytes changes. */
  find(digest: string): Promise<{ data: Uint8Array; place: number } | undefined>;
  /** Size of the store in bytes, including headers. @throws SvcError `storage` */
  size(): Promise<number>;
  /** @throws SvcError `storage` */
  head(): Promise<Head | undefined>;
  /**
   * Points the head at a blob, if `revision` is still its latest; 0 for a store without a head.
   *
   * @returns the new revision, or `undefined` when another writer moved the head. @throws SvcError `storage`
   */
  moveHead(
    to: { digest: string; size: number; token: number; statement?: Uint8Array },
    revision: number,
  ): Promise<number | undefined>;
  /** Calls `run` when any writer has written the head; returns a function that stops it. */
  onHead(run: () => void): () => void;
  /** Every blob with the sequences of its messages in the stream. @throws SvcError `storage` */
  list(): Promise<Map<string, number[]>>;
  /** Removes exactly this message; later messages under the same name stay. */
  remove(place: number): Promise<void>;
}

/** Opens a provisioned object store; no request is sent. */
export function openBlobStore(bus: Bus, name: string): BlobStore {
  const chunkSubject = (digest: string) => `$O.${name}.C.${checkedDigest(digest)}`;
  const metaSubject = (object: string) => `$O.${name}.M.${paddedBase64(Buffer.from(object))}`;
  const stream = `OBJ_${name}`;
  const attempt = <T>(run: () => Promise<T>) => orStorageError(`the object store ${name}`, run);
  /** A write that replaces what was stored under the subject. */
  const write = (subject: string, data: Uint8Array, expected?: number) =>
    storeMessage(bus, subject, data, { rollup: true, lastOnSubject: expected });
  const last = (subject: string) => lastMessage(bus, stream, subject);
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
        ...defined({ metadata }),
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
        return found === undefined ? undefined : { data: found.data, place: found.sequence };
      }),
    size: () => attempt(async () => (await streamState(bus, stream)).bytes),
    head: () =>
      attempt(async () => {
        const found = await last(metaSubject(headName));
        return found === undefined ? undefined : { ...readHead(found.data), revision: found.sequence };
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
        options.bindStream(stream);
        const subscription = await bus.nats.jetstream().subscribe(`$O.${name}.>`, options);
        for await (const { subject, seq, info } of subscription) {
          const digest = digestOf(subject);
          if (digest !== undefined) found.set(digest, [...(found.get(digest) ?? []), seq]);
          if (info.pending === 0) break;
        }
        subscription.unsubscribe();
        return found;
      }),
    remove: (place) => attempt(() => deleteMessage(bus, stream, place)),
  };
}

/** base64url with padding, as the document requires. */
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

/**
 * Anyone with write access can store any object under this name. It is then a head that names nothing, which
 * a writer replaces by its revision.
 */
function readHead(data: Uint8Array): Omit<Head, "revision"> {
  const parsed = v.safeParse(headForm, parseJson(data));
  if (!parsed.success) return { token: 0 };
  const { nuid: digest, metadata = {} } = parsed.output;
  const token = Number(metadata.token);
  return {
    digest,
    token: Number.isSafeInteger(token) ? token : 0,
    ...(metadata.statement === undefined ? {} : { statement: Buffer.from(metadata.statement, "base64url") }),
  };
}

function parseJson(data: Uint8Array): unknown {
  return attempt(() => JSON.parse(new TextDecoder().decode(data)));
}
