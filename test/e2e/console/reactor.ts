import { expect, test } from "bun:test";
import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../../internal/base/files/file.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

const rules = `rules:
  - name: echo
    match: burst/*
    when:
      data.percent: { gte: 90 }
    do:
      - emit: { tag: echo/heard }
`;
const button = (name: string, within = "main") =>
  `[...document.querySelectorAll("${within} button")].find((one) => one.innerText === "${name}")`;

/** The page Reactor. The fleet was started with a storm rate of 1. */
export function reactorCases(at: () => ConsoleFleet): void {
  test("reactor: without rules it says what to do, and with a file of rules it lists them", async () => {
    const { page, open, master, inspect, rest } = at();
    await open("/reactor", "Reactor");
    const command = await page.until<string>(`document.querySelector(".empty code")?.innerText`);
    expect(command).toBe("svc reactor lint reactor.d");
    makeDirectory(join(master.dir, "reactor"), 0o700);
    writeFileAtomic(join(master.dir, "reactor", "echo.yaml"), rules, 0o600);
    await until(async () =>
      (await rest("GET", "reactor/rules")).text.includes('"echo"') ? true : undefined,
    );
    await open("/reactor", "Reactor");
    await page.until(`document.querySelector("tbody td")?.innerText === "echo"`);
    expect(await page.evaluate<string>(`document.querySelector("tbody tr").innerText`)).toContain("closed");
    expect(await inspect("reactor")).toEqual([]);
  });

  test("reactor: an event is tried, with why a rule does not fire, and its address brings it back", async () => {
    const { page, open, inspect, peels } = at();
    await open("/reactor", "Reactor");
    await page.click(`nav.tabs a[href$="/reactor/test"]`);
    await page.type("#try-tag", "burst/now");
    await page.type("#try-source", peels[0]);
    await page.press("Enter");
    const why = `document.querySelector("tbody td:nth-child(3)")?.innerText`;
    expect(await page.until<string>(why)).toBe(
      "data.percent is not in the event; wanted is data.percent gte 90",
    );
    await open(
      `/reactor/test?${new URLSearchParams({ tag: "burst/now", source: peels[0], data: '{"percent": 95, "x": "<b>"}' })}`,
      "Reactor",
    );
    await page.evaluate(`${button("Try it")}.click()`);
    expect(await page.until<string>(why)).toBe("everything matches");
    expect(await page.evaluate<string>(`document.querySelector("pre").innerText`)).toContain(
      "tag: echo/heard",
    );
    expect(await inspect("reactor-test")).toEqual([]);
    await page.type("#try-tag", "/");
    await page.press("Enter");
    expect(await page.until<string>(`document.querySelector("main [role=alert]")?.innerText`)).toContain(
      "event.tag: segments without blanks",
    );
  });

  test("reactor: an open breaker is told, and closed", async () => {
    const { page, open, peels, rest } = at();
    for (const tag of ["burst/1", "burst/2"]) {
      const args = { tag, data: { percent: 95 } };
      await rest("POST", "jobs", { target: peels[0], function: "event.send", args });
    }
    await until(async () => {
      const { text } = await rest("GET", "reactor/rules");
      return text.includes("breaker_open_until") ? true : undefined;
    });
    await open("/overview", "Overview");
    const breaker = `.troubles a[href="/console/reactor"]`;
    expect(await page.until<string>(`document.querySelector('${breaker}')?.innerText`)).toStartWith(
      "The breaker of the rule echo is open",
    );
    expect(await at().barriers()).toEqual([]);
    await page.click(breaker);
    await page.until(`document.querySelector("h1").innerText === "Reactor"`);
    await page.until(`${button("Close")} !== undefined`);
    await page.evaluate(`${button("Close")}.click()`);
    await page.until(`${button("Close it", "dialog")} !== undefined`);
    await page.until(
      `document.querySelector("dialog").innerText.includes("The decision takes effect at once.")`,
    );
    await page.evaluate(`${button("Close it", "dialog")}.click()`);
    await page.until(`document.querySelector("dialog") === null && ${button("Close")} === undefined`);
    const { text } = await rest("GET", "audit?action=reactor.reset");
    expect(text).toContain('"via":"console"');
  });
}
