import type { ComponentChildren } from "preact";
import type { App, ListedPeel } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { type Choice, focusedId } from "../../kit/table/choice.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { useKeys } from "../../kit/use-keys.ts";
import { chosenTarget } from "./chosen-target.ts";
import { LabelPeels } from "./label-peels.tsx";
import { RevokePeels } from "./revoke-peels.tsx";

/** What can be done with the peels that are chosen. */
export interface Selection {
  /** Whether the roles allow anything of it. */
  isOffered: boolean;
  /** Buttons; absent while nothing is chosen. */
  actions: ComponentChildren;
  dialog: ComponentChildren;
}

/** Runs a job on exactly the chosen peels, labels or revokes them. */
export function useSelection(of: {
  app: App;
  picked: readonly ListedPeel[];
  choice: Choice;
  reload(): void;
}): Selection {
  const { app, picked, choice, reload } = of;
  const dialog = useDialog<"label" | "revoke">();
  const { may } = app.session;
  const mays = {
    run: may("jobs", "run"),
    label: may("enrollments", "label"),
    revoke: may("enrollments", "revoke"),
  };
  const isOffered = Object.values(mays).some(Boolean);
  const run = () => {
    const target = chosenTarget(picked);
    if (target !== undefined) return app.router.go(`/jobs/new?target=${encodeURIComponent(target)}`);
    app.say(
      `${picked.length} peels are too many to be named in one target: label them, and run the job on that label`,
    );
  };
  useKeys(
    app.keys,
    isOffered ? { x: { title: "Choose the row", run: () => choice.toggle(focusedId()) } } : {},
    [isOffered],
  );
  const close = (decided: readonly ListedPeel[]) => {
    dialog.close();
    if (decided.length === 0) return;
    choice.drop(decided.map(({ peel_id: id }) => id));
    reload();
  };
  const count = picked.length.toLocaleString("en");
  const Dialog = dialog.about === "label" ? LabelPeels : RevokePeels;
  return {
    isOffered,
    actions: picked.length > 0 && (
      <>
        {mays.run && (
          <Button kind="primary" onClick={run}>
            Run a job on {count}
          </Button>
        )}
        {mays.label && <Button onClick={() => dialog.open("label")}>Label {count}</Button>}
        {mays.revoke && (
          <Button kind="danger" onClick={() => dialog.open("revoke")}>
            Revoke {count}
          </Button>
        )}
      </>
    ),
    dialog: dialog.about !== undefined && <Dialog app={app} peels={picked} close={close} />,
  };
}
