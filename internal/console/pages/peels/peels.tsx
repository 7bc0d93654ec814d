import type { App, ConsolePage } from "../../api/mod.ts";
import type { Place } from "../../kit/router.ts";
import { PeelList } from "./peel-list.tsx";
import { PeelPage } from "./peel-page.tsx";

export const peelsPage: ConsolePage = {
  name: "Peels",
  path: "/peels",
  key: "p",
  may: (session) => session.may("facts", "read"),
  View: Peels,
};

/** The list of peels, or the page of one: `/peels/<id>`, and `/peels/<id>/<view>` for more of it. */
function Peels({ app, place }: { app: App; place: Place }) {
  const [, , id, view] = place.path.split("/");
  if (id === undefined) return <PeelList app={app} place={place} />;
  return <PeelPage key={id} app={app} id={id} view={view ?? ""} />;
}
