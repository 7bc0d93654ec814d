import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ShownEvent } from "../../../fleet/events/mod.ts";
import { type App, createLive, eventsPath, restWhileHidden } from "../../api/mod.ts";

/** Which events are wanted, as they are typed; empty for all. */
export interface Filter {
  /** A glob on tags. */
  tag: string;
  /** A peel id, or a glob on peel ids. */
  source: string;
  /** A duration ago, or a time. */
  since: string;
}

/** What a page shows of the stream. */
export interface Feed {
  /** The newest first. */
  events: readonly ShownEvent[];
  paused: boolean;
  /** Since when no master answers, milliseconds since the Unix epoch. */
  brokenSince: number | undefined;
  /** Why the master refuses this filter. */
  problem: string | undefined;
  /** Pauses, or continues behind the last event that came. */
  toggle(): void;
}

const maxKept = 2_000;

/**
 * Follows the events that match, as the master filters them. Its stream is the one of the tab: the general one rests
 * meanwhile, as nothing else on the page needs it.
 */
export function useEvents(app: App, { tag, source, since }: Filter): Feed {
  const events = useSignal<readonly ShownEvent[]>([]);
  const paused = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const brokenSince = useSignal<number | undefined>(undefined);
  const isLive = useSignal(false);
  const stream = useRef<ReturnType<typeof createLive> | undefined>(undefined);

  useEffect(() => app.live.rest({ brokenSince, isLive }), [app]);

  useEffect(() => {
    const query = new URLSearchParams(
      Object.entries({ tag, source, since }).filter(([, value]) => value !== ""),
    );
    const over = new AbortController();
    events.value = [];
    problem.value = undefined;
    const live = createLive({
      clock: app.clock,
      open: (after) => new EventSource(eventsPath(after, query)),
      onRefused: () => {
        // The browser does not tell why: the master does.
        refusalOf(query, over.signal).then(async (reason) => {
          if (over.signal.aborted) return;
          if (reason === undefined) return app.session.find().catch(() => {});
          problem.value = reason;
          live.stop();
        });
      },
    });
    stream.current = live;
    const endEvents = live.on([""], (arrived) => {
      events.value = [...arrived.toReversed(), ...events.value].slice(0, maxKept);
    });
    const ends = [
      live.brokenSince.subscribe((at) => {
        brokenSince.value = at;
      }),
      live.isLive.subscribe((isOpen) => {
        isLive.value = isOpen;
      }),
    ];
    const endResting = restWhileHidden(document, live);
    if (!paused.peek()) live.start();
    return () => {
      over.abort();
      endResting();
      endEvents();
      for (const end of ends) end();
      live.stop();
    };
  }, [app, tag, source, since]);

  return {
    events: events.value,
    paused: paused.value,
    brokenSince: brokenSince.value,
    problem: problem.value,
    toggle() {
      paused.value = !paused.value;
      if (paused.value) stream.current?.stop();
      else stream.current?.start();
    },
  };
}

/** The message of a master that refuses the request itself; `undefined` for one that would stream, or says nothing. */
async function refusalOf(query: URLSearchParams, signal: AbortSignal): Promise<string | undefined> {
  const reading = new AbortController();
  try {
    const response = await fetch(`/api/v1/events?${query}`, {
      credentials: "same-origin",
      headers: { Accept: "text/event-stream" },
      signal: AbortSignal.any([reading.signal, signal]),
    });
    if (![400, 403, 429].includes(response.status)) return undefined;
    const { error } = (await response.json()) as { error?: unknown };
    return typeof error === "string" ? error : `the master answered ${response.status}`;
  } catch {
    return undefined;
  } finally {
    reading.abort();
  }
}
