import { siteDispatchSubject, siteHintSubject } from "../../bus/subjects/subjects.ts";
import type { Connection } from "./connection.ts";

/** What masters send to all peels of a site at once. */
export interface SubscribedSite {
  /** The site that this peel subscribes to; `undefined` when it has none. */
  readonly current: string | undefined;
  stop(): void;
}

/**
 * Receives what masters send to all peels of the site of this peel. Each connect checks again: masters may have
 * moved the peel to another site, and its credentials tell which.
 *
 * @param options.granted the site in the credentials
 * @param options.onCommand gets the id of the job
 */
export function subscribeToSite(options: {
  connection: Pick<Connection, "subscribe" | "onConnect">;
  granted(): string | undefined;
  onCommand(jid: string, bytes: Uint8Array): void;
  onHint(): void;
}): SubscribedSite {
  const { connection, granted, onCommand, onHint } = options;
  const received = new Set<string>();
  let current: string | undefined;
  const stop = connection.onConnect(() => {
    current = granted();
    if (current === undefined || received.has(current)) return;
    const site = current;
    received.add(site);
    connection.subscribe(siteDispatchSubject(site, "*"), (subject, bytes) => {
      const jid = subject.split(".")[4];
      if (site === current && jid !== undefined) onCommand(jid, bytes);
    });
    connection.subscribe(siteHintSubject(site), () => {
      if (site === current) onHint();
    });
  });
  return {
    get current() {
      return current;
    },
    stop,
  };
}
