import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../internal/base/file.ts";
import type { Visitor } from "./visitor.ts";

/** How a page of the console looks, at every size. */
export interface ConsoleView {
  /**
   * Shows the page in both themes and at all widths from that of a phone to 4K. With SVC_PICTURES=DIR, a picture of
   * each is kept there to be looked at.
   *
   * @param keep called with the picture of 1280 pixels in each theme
   * @returns barriers, and widths at which the page is wider than the window
   */
  inspect(name: string, keep?: (theme: "light" | "dark", picture: Uint8Array) => void): Promise<string[]>;
}

/** CSS pixels. The heights are those of a phone, a laptop, a desk, and a 4K screen at scale 1. */
const sizes = [
  { width: 360, height: 740 },
  { width: 1280, height: 900 },
  { width: 1920, height: 1080 },
  { width: 3840, height: 2160 },
] as const;
/** What is at 1280 pixels is the same at every greater width. */
const inspected: readonly number[] = [360, 1280];

/** Looks at what a visitor has in front of it. */
export function viewOf({ page, barriers }: Pick<Visitor, "page" | "barriers">): ConsoleView {
  return {
    async inspect(name, keep) {
      const found: string[] = [];
      const looked = process.env.SVC_PICTURES;
      if (looked !== undefined) makeDirectory(looked, 0o755);
      for (const dark of [false, true]) {
        for (const { width, height } of sizes) {
          await page.show({ width, height, dark });
          // Tables fit their columns to the new width a moment after it.
          await page.until(
            `[...document.querySelectorAll("th .sorter")].every((one) => !one.checkVisibility() || one.getBoundingClientRect().width >= 24)`,
          );
          const overflow = await page.evaluate<boolean>(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth",
          );
          if (overflow) found.push(`${name} is wider than ${width} px`);
          const theme = dark ? "dark" : "light";
          if (inspected.includes(width))
            found.push(
              // What differs between the themes is the colors.
              ...(await barriers(dark ? "colors" : "all")).map(
                (one) => `${name}, ${theme}, ${width} px: ${one}`,
              ),
            );
          if (keep !== undefined && width === 1280) keep(theme, await page.screenshot());
          if (looked !== undefined)
            writeFileAtomic(join(looked, `${name}-${width}-${theme}.png`), await page.screenshot(), 0o644);
        }
      }
      await page.show({ width: 1280 });
      return found;
    },
  };
}
