import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** The page Rollouts. */
export function rolloutsCases(at: () => ConsoleFleet): void {
  test("rollouts: one is started from the form, with a check, and the waves that are planned are those that run", async () => {
    const { page, open, inspect, rest } = at();
    await open("/rollouts", "Rollouts");
    expect(await page.until<string>(`document.querySelector(".empty .command")?.innerText`)).toContain(
      "svc rollout",
    );
    await page.press("n");
    await page.until(`document.querySelector("h1").innerText === "New rollout"`);
    await page.until(`document.querySelectorAll("#rollout-functions option").length > 20`);
    const refused = async (words: string) => {
      await page.click("form .button.primary");
      await page.until(`[...document.querySelectorAll("main [role=alert]")].some(
        (one) => one.innerText === ${JSON.stringify(words)})`);
      expect(await page.evaluate<boolean>(`document.querySelector("dialog") === null`)).toBe(true);
    };
    await refused("Choose a function.");
    await page.type("#rollout-function", "cmd.run");
    await page.until(`document.querySelector("#arg-command") !== null`);
    await refused("Say on which peels: type a target.");
    await page.type("#rollout-target", "web-*");
    await page.until(`document.querySelector("[aria-label='Planned waves']") !== null`);
    await page.type("#arg-command", "true");
    await page.type("#check-function", "test.ech");
    await refused("Check: The function test.ech does not exist: choose one from the list.");
    await page.type("#check-function", "o");
    await refused("text is required");
    await page.type("#check-arg-text", "well");
    const waves = async (text: string) => {
      await page.evaluate(`document.querySelector("#rollout-waves").select()`);
      await page.type("#rollout-waves", text);
    };
    await waves("x");
    await refused('"x" is neither a number of peels, such as 10, nor 0% to 100%');
    await waves("25%");
    const planned = `document.querySelector("[aria-label='Planned waves'] [role=status]")?.innerText`;
    await page.until(`${planned} === "2 waves of 1"`);
    await page.evaluate(`(document.activeElement.blur(), document.querySelector("h1").scrollIntoView())`);
    expect(await inspect("new-rollout")).toEqual([]);
    await page.click("form .button.primary");
    await page.until(
      `document.querySelector("dialog h2")?.innerText === "Start a rollout of cmd.run on 2 hosts?"`,
    );
    expect(await page.evaluate<string>(`document.querySelector("dialog").innerText`)).toContain(
      "test.echo must then succeed on each host of the wave",
    );
    expect(await at().barriers()).toEqual([]);
    await page.click("dialog .button.danger");
    await page.until(`document.querySelector(".page-head .status")?.innerText === "completed"`);
    const id = (await page.evaluate<string>("location.pathname")).split("/").at(-1);
    expect((await rest("GET", `rollouts/${id}`)).json).toMatchObject({
      ...{ function: "cmd.run", args: { command: "true" }, status: "completed", max_failures: 0 },
      ...{ check: { function: "test.echo", args: { text: "well" } }, wave: 2 },
    });
    const { text } = await rest("GET", "audit?action=rollouts.start");
    expect(text).toContain('"via":"console"');
  });

  test("rollouts: waves as a picture, paused, resumed and aborted", async () => {
    const { page, open, inspect, rest } = at();
    await open("/rollouts", "Rollouts");
    // The canary has passed; what follows waits long enough to be looked at.
    const request = { target: "web-*", function: "test.ping", canary: 1, waves: 1, wave_wait: "10m" };
    const { id } = (await rest("POST", "rollouts", request)).json as { id: string };
    await page.until(`document.querySelectorAll("tbody tr").length === 2`);
    await page.click(`tbody a[href$="${id}"]`);
    await page.until(`document.querySelectorAll(".waves [data-state]").length === 2`);
    await page.until(`document.querySelector('.waves [data-outcome="ok"]') !== null`);
    // While it waits, it says for how long.
    await page.until(
      `/wave 1 has ended; wave 2 starts in \\d+ min \\d\\d s/.test(document.querySelector("main").innerText)`,
    );
    await page.until(`document.querySelector("table").innerText.includes("web-2.example.com")`);
    const press = async (verb: string, button = ".button.primary") => {
      const within = verb === "Pause" ? ".button:not(.danger)" : button;
      await page.click(`.page-head ${within}`);
      await page.until(
        `document.querySelector("dialog h2")?.innerText === "${verb} the rollout of test.ping?"`,
      );
      await page.until(
        `document.querySelector("dialog").innerText.includes("The decision takes effect at once.")`,
      );
      await page.click(`dialog ${button}`);
      await page.until(`document.querySelector("dialog") === null`);
    };
    const shows = (status: string) =>
      page.until(`document.querySelector(".page-head .status").innerText === "${status}"`);
    await press("Pause");
    await shows("paused");
    await page.until(`document.querySelector('[data-gate="held"]') !== null`);
    expect(await inspect("rollout")).toEqual([]);
    await press("Resume");
    await shows("running");
    await press("Abort", ".button.danger");
    await shows("aborted");
    await page.until(`document.querySelector('[data-gate="closed"]') !== null`);
    expect(await page.evaluate<number>(`document.querySelectorAll(".page-head button").length`)).toBe(0);
    expect((await rest("GET", `rollouts/${id}`)).json).toMatchObject({ status: "aborted" });
    await open("/rollouts", "Rollouts");
    await page.until(`document.querySelectorAll("tbody tr").length === 2`);
    expect(await inspect("rollouts")).toEqual([]);
  });
}
