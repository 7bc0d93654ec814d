import { type App, WaitsForApproval } from "../api/mod.ts";

/**
 * Starts something on peels, and shows it. Where others must agree first, it reports that, and shows what waits.
 *
 * @param what names it in a sentence: `job`
 * @param start resolves with the path of its page
 */
export async function startAndGo(app: App, what: string, start: () => Promise<string>): Promise<void> {
  try {
    app.router.go(await start());
  } catch (thrown) {
    if (!(thrown instanceof WaitsForApproval)) throw thrown;
    app.say(`The ${what} ${thrown.message}`);
    if (app.session.may("approvals", "list")) app.router.go("/approvals");
  }
}
