import type { ShownEvent } from "../../../fleet/events/mod.ts";
import type { App } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";

/** One event in full. What a peel sent is text. */
export function EventDialog({ app, event, close }: { app: App; event: ShownEvent; close(): void }) {
  return (
    <Dialog label={`Event ${event.tag}`} onClose={close}>
      <div class="stack">
        <h2 class="mono">{event.tag}</h2>
        <dl class="facts">
          <dt>When</dt>
          <dd>
            <Time at={event.at} now={app.now} />
          </dd>
          <dt>Source</dt>
          <dd>
            {event.peel_id === undefined ? (
              event.source
            ) : (
              <a href={hrefOf(`/peels/${event.source}`)}>{event.source}</a>
            )}
          </dd>
          <dt>Said by</dt>
          <dd>
            {event.origin === "peel" ? "the peel itself; only its identity was verified" : "the masters"}
          </dd>
          <dt>ID</dt>
          <dd class="mono">{event.id}</dd>
        </dl>
        <section class="diff" tabIndex={0} aria-label="Details">
          {JSON.stringify(event.data, null, 2)
            .split("\n")
            .map((line, index) => (
              <div key={index}>{line}</div>
            ))}
        </section>
        <div class="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
