import type { App } from "../../api/mod.ts";
import type { Place } from "../../kit/router.ts";
import { PeelList } from "./peel-list.tsx";
import { PeelPage } from "./peel-page.tsx";

/** The list of peels, or the page of one: `/peels/<id>`, and `/peels/<id>/<view>` for more of it. */
export function Peels({ app, place }: { app: App; place: Place }) {
  const [, , id, view] = place.path.split("/");
  if (id === undefined) return <PeelList app={app} place={place} />;
  return <PeelPage key={id} app={app} id={id} view={view ?? ""} />;
}
