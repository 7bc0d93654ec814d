import type { App } from "../api/mod.ts";
import { Confirm } from "../kit/confirm.tsx";
import { hrefOf } from "../kit/router.ts";
import { Time } from "../kit/time.tsx";

/** Who is signed in, with which roles and for how long, and the end of all their sessions. */
export function YourSession({ app, close }: { app: App; close(): void }) {
  const { session, now } = app;
  const view = session.view.value;
  if (view === undefined) return null;
  return (
    <Confirm
      title="Your session"
      verb="Sign out everywhere"
      leave="Close"
      count={0}
      danger
      act={() => session.signOut(true)}
      close={close}
    >
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
    </Confirm>
  );
}
