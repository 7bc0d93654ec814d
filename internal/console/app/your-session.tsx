import { useSignal } from "@preact/signals";
import type { App } from "../api/mod.ts";
import { Dialog } from "../kit/dialog.tsx";
import { hrefOf } from "../kit/router.ts";
import { Time } from "../kit/time.tsx";

/** Who is signed in, with which roles and for how long, and the end of all their sessions. */
export function YourSession({ app, close }: { app: App; close(): void }) {
  const { session, now } = app;
  const problem = useSignal("");
  const view = session.view.value;
  if (view === undefined) return null;
  return (
    <Dialog label="Your session" onClose={close}>
      <div class="stack">
        <h2>Your session</h2>
        <dl class="facts">
          <dt>Name</dt>
          <dd>{view.name}</dd>
          <dt>Roles</dt>
          <dd>{view.roles?.join(", ") ?? "credentials without roles, which may do everything"}</dd>
          <dt>Signed in</dt>
          <dd>
            <Time at={view.signed_in_at} now={now} />
          </dd>
          <dt>Ends</dt>
          <dd>
            <Time at={view.expires_at} now={now} />
          </dd>
        </dl>
        {session.may("tokens", "list") && (
          <a href={hrefOf("/operators?view=tokens")} onClick={close}>
            Tokens
          </a>
        )}
        <p class="muted">
          Sign out everywhere if you left a browser somewhere, or lost one: all your sessions and links end on
          every master. Your tokens stay.
        </p>
        {problem.value !== "" && (
          <p class="problem" role="alert">
            {problem.value}
          </p>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          <button
            type="button"
            class="button danger"
            onClick={() =>
              session.signOut(true).catch((thrown) => {
                problem.value = thrown.message;
              })
            }
          >
            Sign out everywhere
          </button>
        </div>
      </div>
    </Dialog>
  );
}
