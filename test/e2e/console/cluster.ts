import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** The page Cluster. */
export function clusterCases(at: () => ConsoleFleet): void {
  test("cluster: shows the server and its streams, and how one host becomes three", async () => {
    const { page, open, inspect } = at();
    await open("/cluster", "Cluster");
    await page.until(
      `document.querySelector("section[aria-labelledby=servers-head] tbody tr")?.innerText.includes("up")`,
    );
    const streams = `document.querySelector("section[aria-labelledby=streams-head] tbody").innerText`;
    for (const text of ["enrollments bucket", "complete"]) await page.until(`${streams}.includes("${text}")`);
    expect(await page.evaluate<string>(`document.querySelector("main code.command").innerText`)).toBe(
      "svc cluster add n2.example.com,n3.example.com --dir /srv/fleet",
    );
    expect(await inspect("cluster")).toEqual([]);
  });
}
