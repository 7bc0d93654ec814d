import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
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
    <div class="page">
      <header class="page-head">
        <h1>New rollout</h1>
      </header>
      <Empty title="Your roles do not include starting rollouts" command="svc whoami">
        An administrator can change the roles.
      </Empty>
    </div>
  );
}
