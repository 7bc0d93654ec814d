import { expect, test } from "bun:test";
import { readRepository } from "./source.ts";

// What a host sends is text on every page: nothing in the console can make markup of it.
const markup =
  /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser/;

test("nothing in the console sets markup", () => {
  const found = readRepository().filter(
    ({ path, text }) => path.startsWith("internal/console/") && markup.test(text),
  );
  expect(found.map(({ path }) => path)).toEqual([]);
});

test("a color is one of the tokens, so that both themes have it", () => {
  const odd = readRepository().flatMap(({ path, text }) => {
    if (!/^internal\/console\/.*\.(?:css|tsx)$/.test(path) || path.endsWith("/tokens.css")) return [];
    const found = text.match(/#[0-9a-f]{3,8}\b(?=[;\s"])/gi) ?? [];
    return found.map((color) => `${path}: ${color}`);
  });
  expect(odd).toEqual([]);
});
