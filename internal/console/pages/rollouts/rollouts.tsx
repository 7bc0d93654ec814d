import type { App } from "../../api/mod.ts";
import { NotOffered } from "../../kit/not-offered.tsx";
import type { Place } from "../../kit/router.ts";
import { NewRollout } from "./new-rollout.tsx";
import { RolloutList } from "./rollout-list.tsx";
import { RolloutPage } from "./rollout-page.tsx";

/** The list of rollouts, `/rollouts/new`, or one of them: `/rollouts/<id>`. */
export function Rollouts({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  if (id === undefined) return <RolloutList app={app} place={place} />;
  if (id !== "new") return <RolloutPage key={id} app={app} id={id} />;
  return app.session.may("rollouts", "start") ? (
    <NewRollout app={app} place={place} />
  ) : (
    <NotOffered title="New rollout" what="starting rollouts" />
  );
}
