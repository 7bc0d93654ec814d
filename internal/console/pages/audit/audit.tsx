import type { App, ConsolePage } from "../../api/mod.ts";
import type { Place } from "../../kit/router.ts";
import { EntryList } from "./entry-list.tsx";
import { EntryPage } from "./entry-page.tsx";

export const auditPage: ConsolePage = {
  name: "Audit",
  path: "/audit",
  key: "u",
  may: (session) => session.may("audit", "read"),
  View: Audit,
};

/** The list of entries, or one of them: `/audit/<number>`. */
function Audit({ app, place }: { app: App; place: Place }) {
  const [, , seq] = place.path.split("/");
  if (seq === undefined) return <EntryList app={app} place={place} />;
  return <EntryPage key={seq} app={app} seq={seq} />;
}
