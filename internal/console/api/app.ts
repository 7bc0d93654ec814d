import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { Clock } from "../../base/clock.ts";
import type { Keys } from "../kit/keys.ts";
import type { Place, Router } from "../kit/router.ts";
import type { Client } from "./client.ts";
import type { Live } from "./live.ts";
import type { Session } from "./session.ts";

/** What every page gets. */
export interface App {
  client: Client;
  session: Session;
  live: Live;
  keys: Keys;
  router: Router;
  clock: Clock;
  /** Milliseconds since the Unix epoch; ticks, so that relative times stay true. */
  now: ReadonlySignal<number>;
  /** Says for a moment, also to screen readers, what was done. */
  say(text: string): void;
}

/** A page of the console. */
export interface ConsolePage {
  /** Its name, and the accessible name of its link. */
  name: string;
  /** Below `/console`; the views of the page are below this path. */
  path: string;
  /** The second key behind `g`. */
  key: string;
  /** Whether the session is offered it. */
  may(session: Session): boolean;
  /** `place` is always at or below the path of the page. */
  View: ComponentType<{ app: App; place: Place }>;
}
