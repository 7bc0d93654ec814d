import { siteDispatchSubject, siteHintSubject } from "../../bus/mod.ts";
import type { Connection } from "./connection.ts";

/** What masters send to all peels of a site at once. */
export interface HeardSite {
  /** The site that this peel hears; `undefined` when it has none. */
  readonly current: string | undefined;
  stop(): void;
}

/**
 * Hears what masters send to all peels of the site of this peel. Each connect looks again: masters may have moved the
 * peel to another site, and its credentials tell which.
 *
 * @param options.granted the site in the credentials
 * @param options.onCommand gets the id of the job
 */
export function subscribeToSite(options: {
  connection: Pick<Connection, "subscribe" | "onConnect">;
  granted(): string | undefined;
  onCommand(jid: string, bytes: Uint8Array): void;
  onHint(): void;
}): HeardSite {
  const { connection, granted, onCommand, onHint } = options;
  const heard = new Set<string>();
  let current: string | undefined;
  const stop = connection.onConnect(() => {
    current = granted();
    if (current === undefined || heard.has(current)) return;
    const site = current;
    heard.add(site);
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
