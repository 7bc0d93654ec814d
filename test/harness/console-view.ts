import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../internal/base/files/file.ts";
import type { Visitor } from "./visitor.ts";

/** How a page of the console looks, at every size. */
export interface ConsoleView {
  /**
   * Shows the page in both themes and at all widths from that of a phone to 4K. With SVC_PICTURES=DIR, a picture of
   * each is kept there to be looked at.
   *
   * @param save called with the picture of 1280 pixels in each theme
   * @returns barriers, fields without an id or a name, and widths at which the page is wider than the window
   */
  inspect(name: string, save?: (theme: "light" | "dark", picture: Uint8Array) => void): Promise<string[]>;
}

/** CSS pixels. */
const sizes = [
  // A phone.
  { width: 360, height: 740 },
  // A laptop at a zoom of 200 %.
  { width: 640, height: 450 },
  // A laptop, a desk, and a 4K screen at scale 1.
  { width: 1280, height: 900 },
  { width: 1920, height: 1080 },
  { width: 3840, height: 2160 },
] as const;
/** Where barriers are looked for: what is at 1280 pixels is the same at every greater width. */
const [narrow, wide] = [360, 1280];

/** Looks at what a visitor has in front of it. */
export function viewOf({ page, barriers }: Pick<Visitor, "page" | "barriers">): ConsoleView {
  /** Whether the colors of a narrow page were judged: what it has beside those of a wide one is on every page. */
  const judged = new Set<"light" | "dark">();
  const barriersAt = async (width: number, theme: "light" | "dark"): Promise<string[]> => {
    if (width === wide) return barriers(theme === "light" ? "all" : "colors");
    if (width !== narrow) return [];
    const colors = judged.has(theme) ? [] : await barriers("colors");
    judged.add(theme);
    // Only colors differ between the themes.
    return theme === "light" ? [...colors, ...(await barriers("shapes"))] : colors;
  };
  return {
    async inspect(name, save) {
      const found: string[] = [];
      const pictures = process.env.SVC_PICTURES;
      if (pictures !== undefined) makeDirectory(pictures, 0o755);
      for (const theme of ["light", "dark"] as const) {
        for (const { width, height } of sizes) {
          // The themes are laid out in the same way.
          if (theme === "dark" && pictures === undefined && width !== narrow && width !== wide) continue;
          await page.show({ width, height, dark: theme === "dark" });
          // Tables fit their columns to the new width a moment after it.
          await page.until(
            `[...document.querySelectorAll("th .sorter")].every((one) => !one.checkVisibility() || one.getBoundingClientRect().width >= 24)`,
          );
          const overflow = await page.evaluate<boolean>(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth",
          );
          const unnamed = await page.evaluate<string[]>(
            `[...document.querySelectorAll(":is(input, select, textarea):not([id], [name])")].map((one) => one.outerHTML.slice(0, 160))`,
          );
          if (width === wide)
            found.push(...unnamed.map((one) => `${name} has a field without a name: ${one}`));
          if (overflow) found.push(`${name} is wider than ${width} px`);
          found.push(
            ...(await barriersAt(width, theme)).map((one) => `${name}, ${theme}, ${width} px: ${one}`),
          );
          if (save !== undefined && width === wide) save(theme, await page.screenshot());
          if (pictures !== undefined)
            writeFileAtomic(join(pictures, `${name}-${width}-${theme}.png`), await page.screenshot(), 0o644);
        }
      }
      await page.show({ width: wide });
      return found;
    },
  };
}
