import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { outcomes } from "./outcome.ts";

// The colors of the console can be read in both themes: WCAG 2.2, 1.4.3 for text and 1.4.11 for areas.

const css = readFileSync(join(import.meta.dir, "tokens.css"), "utf8");
const pairs = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);/g)].map(
    ([, name = "", light = "", dark = ""]) => [name, { light, dark }] as const,
  ),
);
const themes = ["light", "dark"] as const;
const surfaces = ["page", "raised", "sunken", "hover", "selected"];
const texts = ["text", "muted", "accent", "danger", ...outcomes];

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The pairs of colors that are closer than they may be. */
function tooClose(wanted: readonly (readonly [string, string])[], min: number): string[] {
  return wanted.flatMap(([one, other]) =>
    themes.flatMap((theme) => {
      const ratio = contrast(pairs.get(one)?.[theme] ?? "#000000", pairs.get(other)?.[theme] ?? "#000000");
      return ratio < min ? [`${one} on ${other}, ${theme}: ${ratio.toFixed(2)}`] : [];
    }),
  );
}

test("contrast is computed as the standard does", () => {
  expect(contrast("#ffffff", "#000000")).toBeCloseTo(21, 5);
  expect(contrast("#767676", "#ffffff")).toBeCloseTo(4.54, 2);
  expect(tooClose([["no-such-color", "page"]], 4.5)).not.toEqual([]);
});

test("text can be read on every surface", () => {
  expect(
    tooClose(
      texts.flatMap((text) => surfaces.map((surface) => [text, surface] as const)),
      4.5,
    ),
  ).toEqual([]);
  const own = [
    ["on-accent", "accent"],
    ["on-danger", "danger"],
    ["ok", "added"],
    ["failed", "removed"],
    ["text", "caution"],
    ["text", "removed"],
  ] as const;
  expect(tooClose(own, 4.5)).toEqual([]);
});

test("areas and the borders of fields stand out", () => {
  const areas = outcomes.map((outcome) => [`${outcome}-area`, "raised"] as const);
  expect(tooClose([...areas, ["border-field", "raised"], ["border-field", "page"]], 3)).toEqual([]);
});
