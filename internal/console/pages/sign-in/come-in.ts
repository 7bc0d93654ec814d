import { type Clock, sleep } from "../../../base/clock.ts";
import { ApiError, type App, type Session } from "../../api/mod.ts";
import { finishSignOn } from "./sign-on.ts";

/** How often an outage is tried again. */
const againMs = 3_000;

/**
 * The first thing a tab does: a link that `svc console` opened is used up, a provider of identities sent its answer,
 * or there is a session already. While nobody can answer, it is tried again.
 */
export async function comeIn({ session, router, clock }: App, window: Window): Promise<void> {
  const { location, history } = window;
  const [, link] = /^#link=([A-Za-z0-9_-]+)$/.exec(location.hash) ?? [];
  try {
    if (link !== undefined) {
      // It is a secret as long as it is good: it does not stay in the address or the history.
      history.replaceState(null, "", location.pathname + location.search);
      await untilAnswered(session, clock, () => comeByLink(session, link));
    } else if (router.place.value.path === "/oidc") {
      const query = router.place.value.query;
      router.go("/overview", { replace: true });
      router.go(await finishSignOn(session, query, window.sessionStorage), { replace: true });
    } else {
      await untilAnswered(session, clock, session.find);
    }
  } catch (thrown) {
    session.refuse(thrown instanceof ApiError ? thrown.message : String(thrown));
  }
}

/** Repeats what an outage stopped, until another tab signed in. */
async function untilAnswered(session: Session, clock: Clock, run: () => Promise<void>): Promise<void> {
  while (session.state.value === "unknown") {
    try {
      return await run();
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || !thrown.isOutage) throw thrown;
      session.wait(thrown);
    }
    await sleep(clock, againMs);
  }
}

/** Anyone could send a link and have others work under another name, so the person confirms it first. */
async function comeByLink(session: Session, link: string): Promise<void> {
  await session.find().catch(() => {});
  const name = session.view.value?.name;
  try {
    await session.signIn({ link, ...(name === undefined ? {} : { signed_in_as: name }) });
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== 409) throw thrown;
    session.replacement.value = { reason: thrown.message, link };
  }
}
