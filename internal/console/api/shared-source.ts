import { type Source, sourceStates } from "./live.ts";

/** What a browser has for all of its windows. */
interface Shared {
  /** `navigator.locks`. */
  locks: Pick<LockManager, "request">;
  /** `new BroadcastChannel(name)`. */
  channel(name: string): Pick<BroadcastChannel, "postMessage" | "close" | "onmessage">;
  /** Opens a stream of its own, behind this position. */
  open(after: string | undefined): Source;
}

/** What the window that has the stream sends to the others. */
type Reported =
  /** A window follows: say how the stream is. */
  | { type: "hello" }
  | { type: "open" }
  /** Masters and their bus answer. */
  | { type: "alive" }
  | { type: "error"; readyState: number }
  | { type: "event"; data: string; lastEventId: string };

const name = "svc-events";

/**
 * One stream of events for all windows of a browser, which has six connections to a master for all of them together.
 * The window that holds the lock has the stream, and sends the others what arrives. When that window closes or is
 * hidden, the next one opens the stream behind the last event.
 *
 * @param after the position after which this window wants events
 */
export function sharedSource({ locks, channel, open }: Shared, after: string | undefined): Source {
  const listeners = new Map<string, (event: MessageEvent) => void>();
  const over = new AbortController();
  const others = channel(name);
  let readyState: number = sourceStates.connecting;
  let position = after;
  /** The stream, while this window has it. */
  let own: Source | undefined;
  const report = (type: string, init: MessageEventInit = {}) =>
    listeners.get(type)?.(new MessageEvent(type, init));
  const say = (reported: Reported) => others.postMessage(reported);

  const take = (reported: Reported) => {
    if (reported.type === "event") {
      position = reported.lastEventId;
      readyState = sourceStates.open;
      return report("event", { data: reported.data, lastEventId: reported.lastEventId });
    }
    if (reported.type === "alive") {
      readyState = sourceStates.open;
      return report("alive");
    }
    // A window that comes later is notified that the stream is open, and the others get that again.
    if (reported.type === "hello" || (reported.type === "open" && readyState === sourceStates.open)) return;
    readyState = reported.type === "open" ? sourceStates.open : reported.readyState;
    report(reported.type);
  };
  others.onmessage = ({ data }: MessageEvent<Reported>) => {
    if (own === undefined) take(data);
    else if (data.type === "hello" && own.readyState === sourceStates.open) say({ type: "open" });
  };
  /** Takes what arrives as the others do, and sends it to them. */
  const both = (reported: Reported) => {
    take(reported);
    say(reported);
  };
  const lead = () => {
    // Without a seen event, events between the stream of another window and this one are not repeated.
    let hasGap = readyState === sourceStates.open && position === undefined;
    const opened = open(position);
    own = opened;
    opened.addEventListener("open", () => {
      both({ type: "open" });
      if (hasGap) report("gap");
      hasGap = false;
    });
    opened.addEventListener("error", () => both({ type: "error", readyState: opened.readyState }));
    opened.addEventListener("alive", () => both({ type: "alive" }));
    opened.addEventListener("event", ({ data, lastEventId }) =>
      both({ type: "event", data: String(data), lastEventId }),
    );
  };
  const ended = new Promise<void>((resolve) => over.signal.addEventListener("abort", () => resolve()));
  locks
    .request(name, { signal: over.signal }, () => {
      if (over.signal.aborted) return;
      lead();
      return ended;
    })
    .catch((thrown) => {
      if (!over.signal.aborted) throw thrown;
    });
  say({ type: "hello" });
  return {
    get readyState() {
      return readyState;
    },
    addEventListener: (type, run) => void listeners.set(type, run),
    close() {
      readyState = sourceStates.closed;
      listeners.clear();
      own?.close();
      others.close();
      over.abort();
    },
  };
}
