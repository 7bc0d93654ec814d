import type { Plain } from "../../../base/msgpack.ts";
import type { ShownEvent } from "../../../fleet/events/mod.ts";
import { plainLines } from "../../../program/answers/mod.ts";
import type { App } from "../../api/mod.ts";
import { type EventGroup, EventSentence } from "../../event-words/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";

const maxShown = 100;

/** The events of a line, each in full. What a peel sent is text. */
export function EventDialog({ app, group, close }: { app: App; group: EventGroup; close(): void }) {
  const { events, tag, words } = group;
  return (
    <Dialog label={`Event ${tag}`} onClose={close}>
      <div class="stack">
        <h2>
          <EventSentence words={words} />
        </h2>
        {events.slice(0, maxShown).map((event) => (
          <OneEvent key={event.id} app={app} event={event} />
        ))}
        {events.length > maxShown && (
          <p class="muted">{(events.length - maxShown).toLocaleString("en")} earlier ones are not shown.</p>
        )}
        <div class="actions">
          <Button onClick={close}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}

function OneEvent({ app: { now }, event }: { app: App; event: ShownEvent }) {
  const lines = plainLines(event.data as Plain);
  return (
    <dl class="facts one-event">
      <Fact name="Tag" as="mono" value={event.tag} />
      <Fact name="When">
        <Time at={event.at} now={now} />
      </Fact>
      <Fact name="Source">
        {event.peel_id === undefined ? (
          "the masters"
        ) : (
          <a href={hrefOf(`/peels/${event.source}`)}>{event.source}</a>
        )}
      </Fact>
      <Fact name="Said by">
        {event.origin === "peel" ? "the peel itself; only its identity was verified" : "the masters"}
      </Fact>
      <Fact name="Details">
        <span class="mono lines">{lines.join("\n")}</span>
      </Fact>
      <Fact name="ID" as="mono" value={event.id} />
    </dl>
  );
}
