import type { App, ConsolePage } from "../../api/mod.ts";
import { Choices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import type { Place } from "../../kit/router.ts";
import { ReactorRules } from "./rules.tsx";
import { ReactorStatus } from "./status.tsx";
import { TryEvent } from "./try-event.tsx";

const views = [
  { path: "/reactor", title: "Rules", action: "rules", View: ReactorRules },
  { path: "/reactor/test", title: "Try an event", action: "test", View: TryEvent },
] as const;

export const reactorPage: ConsolePage = {
  name: "Reactor",
  path: "/reactor",
  key: "x",
  may: (session) => session.may("reactor", "rules") || session.may("reactor", "test"),
  View: Reactor,
};

/** The reactor: who runs it, its rules and open breakers, and what it would do for an event. */
function Reactor({ app, place }: { app: App; place: Place }) {
  const offered = views.filter(({ action }) => app.session.may("reactor", action));
  const shown = offered.find(({ path }) => path === place.path);
  const choices = offered.map(({ path, title }) => ({
    to: path,
    words: title,
    isHere: path === place.path,
  }));
  return (
    <Page title="Reactor" beside={app.session.may("reactor", "status") && <ReactorStatus app={app} />}>
      <Choices as="tabs" label="Views of the reactor" choices={choices} />
      {shown === undefined ? (
        <Empty title="Your roles do not include this view, or there is none" />
      ) : (
        <shown.View app={app} place={place} />
      )}
    </Page>
  );
}
