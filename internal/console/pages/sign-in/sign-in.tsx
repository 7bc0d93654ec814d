import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Dialog } from "../../kit/dialog.tsx";
import { Mark } from "../../kit/mark.tsx";
import { addressOf, hrefOf } from "../../kit/router.ts";
import { beginSignOn, type Provider, readProviders } from "./sign-on.ts";
import { TokenForm } from "./token-form.tsx";

/** The door: a token, a provider of identities, or `svc console`. */
export function SignIn({ app }: { app: App }) {
  const providers = useSignal<readonly Provider[]>([]);
  const own = useSignal("");
  const problem = own.value || app.session.reason.value;
  useEffect(() => {
    document.title = "Sign in · svc";
    readProviders(fetch).then((found) => {
      providers.value = found;
    });
  }, []);
  return (
    <main class="sign-in">
      <div class="card stack">
        <div class="brand">
          <Mark />
          <h1>Sign in to svc</h1>
        </div>
        {problem !== "" && (
          <p class="notice failed" role="alert">
            {problem}
          </p>
        )}
        {providers.value.map(({ issuer, name }) => (
          <button
            key={issuer}
            type="button"
            class="button"
            onClick={() =>
              beginSignOn(issuer, addressOf(app.router.place.value), window).catch((thrown) => {
                own.value = thrown.message;
              })
            }
          >
            Continue with {name}
          </button>
        ))}
        {providers.value.length > 0 && <div class="or">or</div>}
        <TokenForm app={app} verb="Sign in" />
        <div class="or">or from a terminal</div>
        <div class="field">
          <code class="command">svc console</code>
          <p class="muted small">Opens this page signed in as you. The link is good once, for 60 seconds.</p>
        </div>
      </div>
    </main>
  );
}

/** The session ended while pages are open: they stay behind this dialog, with what was typed. */
export function SignInAgain({ app }: { app: App }) {
  return (
    <Dialog label="Your session has ended">
      <div class="stack">
        <h2>Your session has ended</h2>
        <p class="muted">
          Sign in again to continue. What you typed stays. Requests that were refused meanwhile are sent
          again.
        </p>
        <TokenForm app={app} verb="Sign in again" />
        <p class="muted small">
          With <code>svc console</code>, or at a provider of identities,{" "}
          <a href={hrefOf("/overview")} target="_blank" rel="noreferrer">
            sign in in another tab
          </a>
          : this page continues by itself.
        </p>
        <div class="actions">
          <button type="button" class="button plain" onClick={() => app.session.refuse("")}>
            Leave the page
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** A link would sign in another person than the one who is signed in. */
export function SignInInstead({ app: { session } }: { app: App }) {
  const { value: offered } = session.replacement;
  if (offered === undefined) return null;
  const { link, reason } = offered;
  const stay = () => {
    session.replacement.value = undefined;
  };
  const replace = () => {
    stay();
    session.signIn({ link }).catch((thrown) => session.refuse(thrown.message));
  };
  return (
    <Dialog label="Sign in as someone else?" onClose={stay}>
      <div class="stack">
        <h2>Sign in as someone else?</h2>
        <p class="muted">{reason}. What you do after that counts as theirs.</p>
        <div class="actions">
          <button type="button" class="button plain" onClick={stay}>
            Stay signed in
          </button>
          <button type="button" class="button danger" onClick={replace}>
            Sign in instead
          </button>
        </div>
      </div>
    </Dialog>
  );
}
