import { expect, test } from "bun:test";
import { saltOrder } from "./salt-order.ts";

const state = (called: string, id: string, more = {}) => ({
  state: called,
  fun: "x",
  __id__: id,
  name: id,
  __sls__: "web",
  ...more,
});

test.each<[string, Record<string, unknown>[], string]>([
  ["the order of the numbers", [state("file", "a"), state("file", "b")], "a b"],
  [
    "what a state requires",
    [state("service", "s", { require: [{ pkg: "p" }] }), state("file", "f"), state("pkg", "p")],
    "p s f",
  ],
  [
    "names and globs",
    [state("a", "x", { watch: [{ file: "/etc/*" }] }), state("file", "conf", { name: "/etc/y" })],
    "conf x",
  ],
  ["another module of the name", [state("a", "x", { require: [{ file: "y" }] }), state("pkg", "y")], "x y"],
  ["a bare id", [state("a", "x", { onchanges: ["y"] }), state("pkg", "y")], "y x"],
  [
    "a whole file",
    [
      state("a", "x", { require: [{ sls: "db" }] }),
      state("b", "y", { __sls__: "db" }),
      state("c", "z", { __sls__: "z", __sls_included_from__: ["db"] }),
    ],
    "y z x",
  ],
  [
    "chains",
    [state("a", "x", { require: [{ b: "y" }] }), state("b", "y", { require: [{ c: "z" }] }), state("c", "z")],
    "z y x",
  ],
  [
    "circles",
    [state("a", "x", { require: [{ b: "y" }] }), state("b", "y", { require: [{ a: "x" }] })],
    "y x",
  ],
  ["a requisite to nothing", [state("a", "x", { require: [{ b: null }, 7, {}] })], "x"],
])("%s", (_, low, order) => {
  expect(
    saltOrder(low)
      .map(({ __id__: id }) => id)
      .join(" "),
  ).toBe(order);
});
