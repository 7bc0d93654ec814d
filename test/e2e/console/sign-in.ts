import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** The door of the console. */
export function signInCases(at: () => ConsoleFleet): void {
  test("sign in: a wrong token is refused with the reason, and the right one enters", async () => {
    const { page, master, open, inspect, signIn } = at();
    await open("/overview", "Sign in to svc");
    expect(await inspect("sign-in")).toEqual([]);
    await page.type("#token", "wrong-token-0123456789");
    await page.press("Enter");
    const problem = await page.until<string>('document.querySelector("#token-problem").innerText');
    expect(problem).toContain("token");
    await signIn(master.token);
    expect(await page.evaluate<string>("location.pathname")).toBe("/console/overview");
  });

  test("sign in: the cookie is out of reach of scripts, and of other sites", async () => {
    const { page, master } = at();
    expect(await page.evaluate<string>("document.cookie")).toBe("");
    const { cookies } = await page.command<{ cookies: Record<string, unknown>[] }>("Network.getCookies", {
      urls: [master.url],
    });
    expect(cookies).toMatchObject([
      { name: "__Host-svc", httpOnly: true, secure: true, sameSite: "Strict", path: "/" },
    ]);
  });

  test("sign in: a change without the token of the session is refused", async () => {
    const { page } = at();
    const status = await page.evaluate<number>(
      `fetch("/api/v1/jobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then(({ status }) => status)`,
    );
    expect(status).toBe(403);
  });
}
