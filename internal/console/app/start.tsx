import { signal } from "@preact/signals";
import type { Clock } from "../../base/clock.ts";
import {
  type App,
  createClient,
  createLive,
  createSession,
  eventsPath,
  restWhileHidden,
  sharedSource,
} from "../api/mod.ts";
import { showFullTexts } from "../kit/full-text.ts";
import { createKeys, listenToKeys } from "../kit/keys.ts";
import { createRouter } from "../kit/router.ts";
import { comeIn, SignIn, Waiting } from "../pages/sign-in/mod.ts";
import { Shell } from "./shell.tsx";
import { createTheme } from "./theme.ts";

const sayMs = 5_000;

/** How far back the stream starts: pages may have read before it opens. */
const overlapMs = 2_000;

/** How often a session without the stream of events asks whether the fleet answers, and how long it waits for that. */
const checkEveryMs = 4_000;
const maxAnswerMs = 3_500;

/** The stream of events, which all windows of a browser share. */
function openStream(window: Window & typeof globalThis, clock: Clock, after: string | undefined) {
  const requestedAt = clock.monotonic();
  const { locks } = window.navigator;
  const channel = (name: string) => new window.BroadcastChannel(name);
  const open = (position: string | undefined) => {
    const seconds = Math.ceil((clock.monotonic() - requestedAt + overlapMs) / 1_000);
    const since = new URLSearchParams(position === undefined ? {} : { since: `${seconds}s` });
    return new window.EventSource(eventsPath(position, since));
  };
  return sharedSource({ locks, channel, open }, after);
}

/** Whether a master answers, and can say whose session this is, which its bus knows. */
async function isAnswering(window: Window & typeof globalThis): Promise<boolean> {
  const signal = window.AbortSignal.timeout(maxAnswerMs);
  const response = await window.fetch("/api/v1/sessions/current", { signal }).catch(() => undefined);
  return response !== undefined && response.status < 500;
}

/** Creates and wires the parts of the console. There is one per tab, as long as the tab is open. */
export function startConsole(window: Window & typeof globalThis, clock: Clock) {
  const fetch = (path: string, init: RequestInit) => window.fetch(path, init);
  // All tabs of a browser have one cookie.
  const tabs = new window.BroadcastChannel("svc-session");
  const session = createSession({ clock, fetch, announce: () => tabs.postMessage("changed") });
  tabs.onmessage = () => void session.find().catch(() => {});
  const keys = createKeys(() => clock.monotonic());
  const now = signal(clock.now());
  const says = signal("");
  let saying = { cancel() {} };
  const live = createLive({
    clock,
    open: (after) => openStream(window, clock, after),
    // The browser does not tell why: a session that has ended is the one reason that a person can mend.
    onRefused: () => void session.find().catch(() => {}),
  });
  const app: App = {
    client: createClient({
      clock,
      fetch,
      session: () => session.view.value,
      signInAgain: session.signedInAgain,
    }),
    router: createRouter(window),
    ...{ session, keys, live, clock, now },
    say(text) {
      saying.cancel();
      says.value = text;
      saying = clock.after(sayMs, () => {
        says.value = "";
      });
    },
  };
  restWhileHidden(window.document, live);
  const theme = createTheme(window.document.documentElement, window.localStorage);
  clock.every(1_000, () => {
    now.value = clock.now();
  });
  listenToKeys(window.document, keys);
  showFullTexts(window.document);
  session.state.subscribe((state) => {
    if (state === "in" && session.may("events", "read")) live.start();
    if (state === "out") live.stop();
  });
  // Without a stream, nothing else tells that what is shown is old.
  clock.every(checkEveryMs, async () => {
    if (session.state.value !== "in" || session.may("events", "read")) return;
    live.note(await isAnswering(window));
  });
  comeIn(app, window);

  return <Console />;

  function Console() {
    switch (session.state.value) {
      case "unknown":
        return <Waiting app={app} />;
      case "out":
        return <SignIn app={app} />;
      default:
        // Pages of another person do not stay open.
        return <Shell key={session.view.value?.name} app={app} theme={theme} says={says} />;
    }
  }
}
