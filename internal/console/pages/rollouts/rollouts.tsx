import type { App, ConsolePage } from "../../api/mod.ts";
import { NotOffered } from "../../kit/not-offered.tsx";
import type { Place } from "../../kit/router.ts";
import { NewRollout } from "./new-rollout.tsx";
import { RolloutList } from "./rollout-list.tsx";
import { RolloutPage } from "./rollout-page.tsx";

export const rolloutsPage: ConsolePage = {
  name: "Rollouts",
  path: "/rollouts",
  key: "r",
  may: (session) => session.may("rollouts", "list"),
  View: Rollouts,
};

/** The list of rollouts, `/rollouts/new`, or one of them: `/rollouts/<id>`. */
function Rollouts({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  if (id === undefined) return <RolloutList app={app} place={place} />;
  if (id !== "new") return <RolloutPage key={id} app={app} id={id} />;
  return app.session.may("rollouts", "start") ? (
    <NewRollout app={app} place={place} />
  ) : (
    <NotOffered title="New rollout" what="starting rollouts" />
  );
}
