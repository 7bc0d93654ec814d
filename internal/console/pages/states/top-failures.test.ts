import { expect, test } from "bun:test";
import { topFailures } from "./top-failures.ts";

const failure = (id: string, line = 3) => ({
  id,
  function: "pkg.installed",
  file: "web/init.sls",
  line,
  comment: `${id} failed`,
});

test("counts a state once for each peel, those of the most peels first", () => {
  const found = topFailures([
    { peel: "a", failures: [failure("curl"), failure("nginx"), failure("nginx")] },
    { peel: "b", failures: [failure("nginx")] },
    { peel: "c" },
  ]);
  expect(found.map(({ id, peels }) => [id, peels])).toEqual([
    ["nginx", ["a", "b"]],
    ["curl", ["a"]],
  ]);
  expect(found[0]).toMatchObject({ at: "web/init.sls:3", comment: "nginx failed" });
});

test("keeps declarations at different places apart, and lists ten", () => {
  const peels = [{ peel: "a", failures: Array.from({ length: 12 }, (_, line) => failure("nginx", line)) }];
  expect(topFailures(peels)).toHaveLength(10);
});
