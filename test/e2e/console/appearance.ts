import { expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileAtomic } from "../../../internal/base/files/file.ts";
import type { ShownFleet } from "../../harness/shown-fleet/start.ts";

type Features = Readonly<Record<string, string>>;

/** The contrast of two computed colors, WCAG 2.2; and what the page has of a kind. */
const measures = `
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((one) => {
      const part = one / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const page = getComputedStyle(document.body).backgroundColor;
  const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const weak = (selector, property) =>
    all(selector).filter((one) => contrast(getComputedStyle(one)[property], page) < 3).map((one) => one.outerHTML.slice(0, 120));
`;

/** How pages follow what the system of the reader asks for: fewer colors, less motion, paper. */
export function appearanceCases(at: () => ShownFleet): void {
  const emulate = (features: Features, media = "") =>
    at().page.command("Emulation.setEmulatedMedia", {
      media,
      features: Object.entries(features).map(([name, value]) => ({ name, value })),
    });
  const open = async (path: string, ready: string) => {
    const { page, ids, url } = at();
    await page.open(`${url}/console${path.replace(/\{([\w-]+)\}/, (_, of: string) => ids[of] ?? "")}`);
    await page.until(ready);
  };
  /** With SVC_PICTURES=DIR, what is in the window is kept to be looked at. */
  const picture = async (name: string) => {
    const dir = process.env.SVC_PICTURES;
    if (dir !== undefined) writeFileAtomic(join(dir, `${name}.png`), await at().page.screenshot(), 0o644);
  };
  const calm = async () => {
    await emulate({});
    await at().page.show({ width: 1280 });
  };

  test.each(["light", "dark"])(
    "forced colors, %s: outcomes are told apart by their signs, and what is chosen by its line",
    async (scheme) => {
      const { page } = at();
      await emulate({ "forced-colors": "active", "prefers-color-scheme": scheme });
      await open("/jobs/{job-mixed}", `document.querySelectorAll("tbody .status").length >= 10`);
      // What was chosen in the console is for its own colors.
      await page.evaluate(
        `document.documentElement.dataset.theme = ${JSON.stringify(scheme === "dark" ? "light" : "dark")}`,
      );
      const shapes = await page.evaluate<[string, string][]>(`(() => { ${measures}
      return all(".status").map((one) => [one.dataset.outcome, one.querySelector("path").getAttribute("d")]);
    })()`);
      const byOutcome = new Map(shapes);
      expect(byOutcome.size).toBeGreaterThanOrEqual(4);
      expect(new Set(byOutcome.values()).size).toBe(byOutcome.size);
      const faint = await page.evaluate<string[]>(`(() => { ${measures}
      return [...weak(".status .glyph", "stroke"), ...weak(".status", "color"), ...weak(".shares rect", "fill")];
    })()`);
      expect(faint).toEqual([]);
      expect(
        await page.evaluate<string>(
          `getComputedStyle(document.querySelector("nav [aria-current]")).outlineStyle`,
        ),
      ).toBe("solid");
      await picture(`forced-job-${scheme}`);
      await open("/rollouts/{rollout}", `document.querySelector(".waves text") !== null`);
      await page.evaluate(
        `document.documentElement.dataset.theme = ${JSON.stringify(scheme === "dark" ? "light" : "dark")}`,
      );
      const unread = await page.evaluate<string[]>(`(() => { ${measures}
      return [...weak(".waves text", "fill"), ...weak(".waves .frame", "stroke"), ...weak(".waves .gate", "stroke")];
    })()`);
      expect(unread).toEqual([]);
      await picture(`forced-rollout-${scheme}`);
      await page.evaluate(`delete document.documentElement.dataset.theme`);
      await calm();
    },
  );

  test("less motion: nothing moves", async () => {
    const { page } = at();
    await emulate({ "prefers-reduced-motion": "reduce" });
    for (const [path, ready] of [
      ["/overview", `document.body.innerText.includes("Latest jobs")`],
      ["/jobs/{job-running}", `document.querySelector("tbody .status") !== null`],
      ["/rollouts/{rollout}", `document.querySelector(".waves text") !== null`],
    ] as const) {
      await open(path, ready);
      await page.press("?");
      await page.until(`document.querySelector("dialog[open]") !== null`);
      const moving = await page.evaluate<string[]>(`[...document.querySelectorAll("*")]
        .filter((one) => ["", "::before", "::after", "::backdrop"].some((part) => {
          const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(one, part || null);
          return animationName !== "none" || !/^0s(?:, 0s)*$/.test(transitionDuration) || scrollBehavior === "smooth";
        }))
        .map((one) => one.outerHTML.slice(0, 120))`);
      expect([path, moving, await page.evaluate<number>("document.getAnimations().length")]).toEqual([
        path,
        [],
        0,
      ]);
    }
    await calm();
  });

  test("print: a table has all of its rows on paper, and nothing is cut", async () => {
    const { page } = at();
    const rows = `document.querySelectorAll("tbody:not([aria-hidden]) tr").length`;
    const all = `Number(document.querySelector("table").getAttribute("aria-rowcount")) - 1`;
    // A low window has few of them as elements.
    await page.show({ width: 1280, height: 300 });
    await open("/audit", `${all} > 40`);
    await page.until(`${rows} > 0 && ${rows} < ${all}`);
    // As the browser prints: the page is told before it is laid out on paper.
    await page.evaluate(`addEventListener("beforeprint", () => queueMicrotask(() => {
      globalThis.printed = [${rows}, ${all}];
    }), { once: true })`);
    const { data } = await page.command<{ data: string }>("Page.printToPDF", { printBackground: true });
    const [printed, wanted] = await page.evaluate<number[]>("globalThis.printed");
    expect(printed).toBe(wanted as number);
    expect(
      Buffer.from(data, "base64")
        .toString("latin1")
        .match(/\/Type \/Page\b/g)?.length,
    ).toBeGreaterThan(1);
    await page.until(`${rows} < ${all}`);

    // On a sheet of A4 with its margins.
    for (const [name, path, ready] of [
      ["audit", "/audit", `${all} > 40`],
      ["peels", "/peels", `${rows} > 5`],
      ["overview", "/overview", `document.body.innerText.includes("Latest jobs")`],
      ["rollout", "/rollouts/{rollout}", `document.querySelector(".waves text") !== null`],
      ["job-return", "/jobs/{job-mixed}/web-1.example.com", `document.querySelector(".output pre") !== null`],
    ] as const) {
      await open(path, ready);
      await page.show({ width: 718, height: 1000 });
      await emulate({}, "print");
      await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
      const cut = await page.evaluate<
        string[]
      >(`[...document.querySelectorAll("main, main *:not(.visually-hidden)")]
        .filter((one) => one.checkVisibility() && getComputedStyle(one).overflow !== "visible")
        .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
        .map((one) => one.outerHTML.slice(0, 160))`);
      // Nothing to press or to type into.
      const controls = await page.evaluate<
        string[]
      >(`[...document.querySelectorAll("main :is(.button, input, select)")]
        .filter((one) => one.checkVisibility())
        .map((one) => one.outerHTML.slice(0, 160))`);
      expect([path, controls]).toEqual([path, []]);
      const wide = await page.evaluate<boolean>(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth",
      );
      expect([path, cut, wide]).toEqual([path, [], false]);
      await picture(`print-${name}`);
      await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
      await calm();
    }
  });
}
