import { readFileSync } from "node:fs";
import type { Page } from "./browser.ts";

/** Someone in front of the console of a master. */
export interface Visitor {
  readonly page: Page;
  /** Opens a path below `/console`. */
  go(path: string): Promise<void>;
  /** The same, and waits for its heading. */
  open(path: string, heading?: string): Promise<void>;
  signIn(token: string): Promise<void>;
  /** Signs out, if someone is signed in. */
  signOut(): Promise<void>;
  /** Clicks the button or the link that says this, as soon as it is there and can be used. */
  choose(words: string, within?: string): Promise<void>;
  /** What the buttons say that are shown and can be used. */
  buttons(within?: string): Promise<string[]>;
  /** Asks a master as a script of the page would: with the cookie and the token of the session. */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>;
  /**
   * Barriers of the page that is shown, WCAG 2.2 AA; each with its rule and its elements.
   *
   * @param about those of colors alone, those that are not of colors, or all of them
   */
  barriers(about?: "colors" | "shapes" | "all"): Promise<string[]>;
  /** Somebody else at the same browser, who is not signed in yet. */
  another(url?: string): Promise<Visitor>;
}

const axe = () => readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const colorRules = ["color-contrast", "link-in-text-block"];

/** @param url of the master */
export function visitorOf(page: Page, url: string): Visitor {
  const usable = (within: string) =>
    `[...document.querySelectorAll(${JSON.stringify(within)})]
      .flatMap((one) => [...one.querySelectorAll("button, a.button")])
      .filter((one) => one.disabled !== true && one.checkVisibility())`;
  const visitor: Visitor = {
    page,
    async go(path) {
      // As a person does whose address asked too often: the document is the refusal.
      do await page.open(`${url}/console${path}`);
      while (await page.evaluate<boolean>('document.contentType !== "text/html"'));
    },
    async open(path, heading) {
      await visitor.go(path);
      await page.until(
        heading === undefined
          ? 'document.querySelector("h1") !== null'
          : `document.querySelector("h1")?.innerText === ${JSON.stringify(heading)}`,
      );
    },
    async signIn(token) {
      await visitor.open("/overview", "Sign in to svc");
      await page.type("#token", token);
      await page.press("Enter");
      await page.until('document.querySelector(".shell") !== null');
    },
    async signOut() {
      await page.evaluate(
        `[...document.querySelectorAll("button")].find((one) => one.innerText === "Sign out")?.click()`,
      );
      await page.until('document.querySelector("#token") !== null');
    },
    async choose(words, within = "body") {
      await page.until(
        `(() => { const found = ${usable(within)}.find((one) => one.innerText === ${JSON.stringify(words)}); found?.click(); return found !== undefined; })()`,
      );
    },
    buttons: (within = "main") => page.evaluate(`${usable(within)}.map((one) => one.innerText)`),
    request: (method, path, body) =>
      page.evaluate(`fetch("/api/v1/sessions/current")
        .then((answer) => answer.json())
        .then(({ csrf }) => fetch(${JSON.stringify(`/api/v1/${path}`)}, {
          method: ${JSON.stringify(method)},
          headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf ?? "" },
          ${body === undefined ? "" : `body: ${JSON.stringify(JSON.stringify(body))},`}
        }))
        .then(async (answer) => ({ status: answer.status, text: await answer.text() }))`),
    async barriers(about = "all") {
      // Once per page: it is large.
      if (!(await page.evaluate<boolean>(`"axe" in window`))) await page.evaluate(axe());
      const rules = Object.fromEntries(colorRules.map((rule) => [rule, { enabled: about !== "shapes" }]));
      const options = about === "colors" ? { runOnly: colorRules } : { runOnly: standards, rules };
      return page.evaluate<string[]>(`axe
        .run(document, ${JSON.stringify(options)})
        .then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(" | ")))`);
    },
    another: async (other = url) => visitorOf(await page.another(), other),
  };
  return visitor;
}
