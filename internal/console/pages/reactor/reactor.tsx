import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { ReactorRules } from "./rules.tsx";
import { ReactorStatus } from "./status.tsx";
import { TryEvent } from "./try-event.tsx";

const views = [
  { path: "/reactor", title: "Rules", action: "rules", View: ReactorRules },
  { path: "/reactor/test", title: "Try an event", action: "test", View: TryEvent },
] as const;

/** The reactor: who runs it, its rules and open breakers, and what it would do for an event. */
export function Reactor({ app, place }: { app: App; place: Place }) {
  const offered = views.filter(({ action }) => app.session.may("reactor", action));
  const shown = offered.find(({ path }) => path === place.path);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Reactor</h1>
        {app.session.may("reactor", "status") && <ReactorStatus app={app} />}
      </header>
      <nav class="tabs" aria-label="Views of the reactor">
        {offered.map(({ path, title }) => (
          <a key={path} href={hrefOf(path)} {...(path === place.path ? { "aria-current": "page" } : {})}>
            {title}
          </a>
        ))}
      </nav>
      {shown === undefined ? (
        <Empty title="Your roles do not include this view, or there is none" />
      ) : (
        <shown.View app={app} place={place} />
      )}
    </div>
  );
}
