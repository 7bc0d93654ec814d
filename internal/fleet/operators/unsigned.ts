/** Operators who still send unsigned requests, as one master has seen them since its start. */
export interface UnsignedRequester {
  /** The name in the request, which proves nothing. */
  name: string;
  subject: string;
  requests: number;
  /** Milliseconds since the Unix epoch. */
  lastAt: number;
}

/** Names and subjects that are remembered; the least recent ones are forgotten first. */
const max = 256;
const maxName = 64;

export interface UnsignedRequesters {
  note(subject: string, claimed: unknown): void;
  /** The most recent one comes first. */
  list(): readonly UnsignedRequester[];
}

export function createUnsignedRequesters(clock: { now(): number }): UnsignedRequesters {
  const known = new Map<string, UnsignedRequester>();
  return {
    note(subject, claimed) {
      const name = typeof claimed === "string" ? claimed.slice(0, maxName) : "";
      // A job has a subject of its own for its cancellation.
      const group = subject.replace(/^svc\.job\.[^.]+\./, "svc.job.*.");
      const key = JSON.stringify([name, group]);
      const { requests } = known.get(key) ?? { requests: 0 };
      known.delete(key);
      known.set(key, { name, subject: group, requests: requests + 1, lastAt: clock.now() });
      const [oldest] = known.keys();
      if (known.size > max && oldest !== undefined) known.delete(oldest);
    },
    list: () => [...known.values()].reverse(),
  };
}
