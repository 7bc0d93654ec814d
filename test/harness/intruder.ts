import { headers, type StreamConfig } from "nats";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { type AssetName, streamName } from "../../internal/bus/assets/assets.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { readRange } from "../../internal/bus/streams/read-range.ts";
import { isEnvelope } from "../../internal/wire/signed-request.ts";
import { connectTo, type TestBus } from "./bus.ts";

/** An attacker who controls a bus server: it has the credentials of a master there, and no key of anyone. */
export interface Intruder extends AsyncDisposable {
  readonly bus: Bus;
  /** The signed requests that it saw, as they were sent. */
  readonly requests: readonly Message[];
  /** Everything that it can do to what is stored there, the gentlest first. */
  attacksOn(asset: AssetName): Promise<Attack[]>;
  /** Keeps what is stored. @returns puts it back */
  snapshot(asset: AssetName): Promise<() => Promise<void>>;
  /** Replaces what a stream holds. @param first the sequence that it begins with */
  rewrite(stream: string, messages: readonly Message[], first?: number): Promise<void>;
}

export interface Message {
  subject: string;
  data: Uint8Array;
}

export interface Attack {
  what: string;
  run(): Promise<void>;
}

const everything = 1_000_000;

/** Connects, and listens to everything from now on. */
export async function startIntruder(of: TestBus): Promise<Intruder> {
  const bus = await connectTo(of, "master");
  const manager = await bus.nats.jetstreamManager();
  const requests: Message[] = [];
  /** Whatever was stored under each subject, oldest first. */
  const seen = new Map<string, Uint8Array[]>();
  bus.nats.subscribe(">", {
    callback(error, { subject, data, headers: head }) {
      if (error !== null || /^(?:_INBOX|\$JS|\$SYS)/.test(subject)) return;
      const copy = Uint8Array.from(data);
      if (isRequest(subject, copy)) requests.push({ subject, data: copy });
      else if (head?.has("KV-Operation") !== true) seen.getOrInsert(subject, []).push(copy);
    },
  });
  await bus.nats.flush();
  const config = async (stream: string): Promise<StreamConfig> => (await manager.streams.info(stream)).config;
  /** What the server refuses is refused to everybody. */
  const store = (subject: string, data: Uint8Array, removal = false) => {
    const head = headers();
    if (removal) head.set("KV-Operation", "DEL");
    return bus.nats.request(subject, data, { timeout: 1_000, ...(removal ? { headers: head } : {}) }).then(
      () => {},
      () => {},
    );
  };
  /** In this order: the server takes the messages of a connection one after the other. */
  const storeAll = async (messages: readonly Message[]) => {
    await Promise.all(messages.map(({ subject, data }) => store(subject, data)));
  };
  /**
   * A server removes the files of a stream after it has answered: one that is made at once can find some of them. And a
   * master makes a stream again that is gone.
   */
  const begin = async (kept: StreamConfig) => {
    for (;;) {
      await manager.streams.delete(kept.name).catch(() => false);
      const made = await manager.streams.add(kept).catch(() => undefined);
      if (made?.state.messages === 0) return;
    }
  };
  const rewrite = async (stream: string, messages: readonly Message[], first = 1) => {
    await begin({ ...(await config(stream)), first_seq: first });
    await storeAll(messages);
  };
  return {
    bus,
    requests,
    rewrite,
    async snapshot(asset) {
      const stream = streamName(asset);
      const kept = await config(stream);
      const messages = await readRange(bus, stream, { from: 1, count: everything });
      return async () => {
        await begin(kept);
        // A removal is stored without a value.
        await storeAll(messages.filter(({ data }) => data.length > 0));
      };
    },
    async attacksOn(asset) {
      const stream = streamName(asset);
      const stored = await readRange(bus, stream, { from: 1, count: everything });
      const subjects = [...new Set(stored.map(({ subject }) => subject))];
      const versions = (subject: string) => [
        ...(seen.get(subject) ?? []),
        ...stored.filter((one) => one.subject === subject).map(({ data }) => data),
      ];
      const pairs = subjects.flatMap((subject, index) => {
        const other = versions(subjects[(index + 1) % subjects.length] ?? subject).at(-1);
        return other === undefined ? [] : [{ subject, data: other }];
      });
      const each = (messages: readonly Message[]) => () => storeAll(messages);
      const beginning = (await config(stream)).subjects[0]?.replace(/[>*].*$/, "") ?? "";
      return [
        {
          what: "garbage",
          run: each(
            [...subjects, `${beginning}forged`].flatMap((subject) =>
              [systemRandom(64), encode({ v: 1 }), new Uint8Array()].map((data) => ({ subject, data })),
            ),
          ),
        },
        {
          what: "old values, and the oldest last",
          run: each(
            subjects.flatMap((subject) =>
              versions(subject)
                .toReversed()
                .map((data) => ({ subject, data })),
            ),
          ),
        },
        { what: "values of other keys", run: each(pairs) },
        {
          what: "values under new keys",
          run: each(pairs.map(({ data }, index) => ({ subject: `${beginning}copy-${index}`, data }))),
        },
        {
          what: "everything deleted",
          run: async () => {
            await Promise.all(subjects.map((subject) => store(subject, new Uint8Array(), true)));
          },
        },
        {
          what: "everything purged",
          run: async () => {
            // Not of the audit; deleting the stream is the way around that.
            await manager.streams.purge(stream).catch(() => {});
          },
        },
        {
          what: "old values after the purge",
          run: each(
            subjects.flatMap((subject) =>
              versions(subject)
                .slice(0, 1)
                .map((data) => ({ subject, data })),
            ),
          ),
        },
        { what: "the stream made again, and empty", run: () => rewrite(stream, []) },
        {
          what: "the stream with the newest values, without its history",
          run: () =>
            rewrite(
              stream,
              stored.map(({ subject, data }) => ({ subject, data })),
            ),
        },
      ];
    },
    async [Symbol.asyncDispose]() {
      await bus.nats.close();
    },
  };
}

function isRequest(subject: string, data: Uint8Array): boolean {
  try {
    return subject.startsWith("svc.") && isEnvelope(decode(data));
  } catch {
    return false;
  }
}
