import { ApiError, type App } from "../../api/mod.ts";
import { finishSignOn } from "./sign-on.ts";

/**
 * The first thing a tab does: a link that `svc console` opened is used up, a provider of identities sent its answer, or there is a session already.
 */
export async function comeIn({ session, router }: App, window: Window): Promise<void> {
  const { location, history } = window;
  const [, link] = /^#link=([A-Za-z0-9_-]+)$/.exec(location.hash) ?? [];
  try {
    if (link !== undefined) {
      // It is a secret as long as it is good: it does not stay in the address or the history.
      history.replaceState(null, "", location.pathname + location.search);
      await session.signIn({ link });
    } else if (router.place.value.path === "/oidc") {
      const query = router.place.value.query;
      router.go("/overview", { replace: true });
      router.go(await finishSignOn(session, query, window.sessionStorage), { replace: true });
    } else {
      await session.find();
    }
  } catch (thrown) {
    session.refuse(thrown instanceof ApiError ? thrown.message : String(thrown));
  }
}
