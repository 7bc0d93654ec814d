import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

const tags = `[...document.querySelectorAll("tbody:not([aria-hidden]) tr td:nth-child(3)")].map((one) => one.innerText)`;
const button = (name: string) =>
  `[...document.querySelectorAll("main button")].find((one) => one.innerText === "${name}")`;
const markup = `<img src=x onerror="document.title='owned'">`;

/** The page Events. */
export function eventsCases(at: () => ConsoleFleet): void {
  /** A peel emits an event whose data is `text`. */
  const emit = async (tag: string, text: string) => {
    const { rest, peels } = at();
    const { status } = await rest("POST", "jobs", {
      target: peels[0],
      function: "event.send",
      args: { tag, data: { text } },
    });
    expect(status).toBe(202);
  };

  test("events: those before are there, new ones come, and what a host sends is text", async () => {
    const { page, open, inspect, barriers, peels } = at();
    await emit("console/before", markup);
    await open("/events?tag=console/**&since=1h", "Events");
    await page.until(`${tags}.includes("console/before")`);
    await emit("console/now", markup);
    await page.until(`${tags}[0] === "console/now"`);
    expect(await page.evaluate<string[]>(tags)).toEqual(["console/now", "console/before"]);
    expect(await inspect("events")).toEqual([]);
    await page.press("j");
    await page.press("Enter");
    await page.until(`document.querySelector("dialog[open]") !== null`);
    expect(await page.evaluate<string>("location.search")).toContain("event=");
    expect(await page.evaluate<string>(`document.querySelector("dialog").innerText`)).toContain("<img src=x");
    expect(await page.evaluate<number>(`document.querySelectorAll("main img, dialog img").length`)).toBe(0);
    expect(await barriers()).toEqual([]);
    await page.press("Escape");
    await page.until(`document.querySelector("dialog[open]") === null`);
    await page.evaluate(`document.querySelector('tbody a[href$="/peels/${peels[0]}"]').click()`);
    await page.until(`document.querySelector("h1").innerText === ${JSON.stringify(peels[0])}`);
  });

  test("events: a pause holds them back, and continues behind the last one, with one stream per tab", async () => {
    const { page, open } = at();
    await open("/events?tag=console/**&since=1h", "Events");
    await page.until(`${tags}.includes("console/now")`);
    await page.press("p");
    await page.until(`${button("Resume")} !== undefined`);
    await emit("console/held", "x");
    await page.evaluate(`${button("Resume")}.click()`);
    await page.until(`${tags}[0] === "console/held"`);
    expect(await page.evaluate<string[]>(tags)).toEqual(["console/held", "console/now", "console/before"]);
  });

  test("events: a filter that is malformed is told by the master, and one that finds nothing says what to do", async () => {
    const { page, open, peels } = at();
    await open("/events", "Events");
    await page.press("/");
    await page.type("#events-tag", "console/[a");
    await page.press("Enter");
    const problem = await page.until<string>(`document.querySelector("main [role=alert]")?.innerText`);
    expect(problem).toContain("expected a ] for this [");
    await open(`/events?tag=no/such&source=${peels[0]}`, "Events");
    const empty = await page.until<string>(`document.querySelector(".empty code")?.innerText`);
    expect(empty).toBe(`svc events --tag 'no/such' --source '${peels[0]}' --since 10m`);
  });
}
