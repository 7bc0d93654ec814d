import { expect, test } from "bun:test";
import type { ConnectionListener } from "../../../bus/servers/system.ts";
import { watchExcessConnections } from "./excess-connections.ts";

function setup(max: number) {
  const excess: string[] = [];
  let listener: ConnectionListener | undefined;
  let connects = 0;
  watchExcessConnections({
    system: {
      followConnections(_, given) {
        listener = given;
        return () => {};
      },
    },
    account: "A",
    max,
    onConnect: () => connects++,
    onExcess: ({ id }) => excess.push(id),
  });
  const of = (id: string) => ({ id, user: id.slice(0, 1), name: "web1", jwt: "", reported: id.slice(0, 1) });
  return {
    excess,
    began(...ids: string[]) {
      for (const id of ids) listener?.began(of(id));
    },
    ended(...ids: string[]) {
      for (const id of ids) listener?.ended(of(id));
    },
    unsure: () => listener?.unsure(),
    connects: () => connects,
  };
}

test("the fifth connection of one user is one too many, and those that ended do not count", () => {
  const { excess, began, ended, connects } = setup(4);
  began("a1", "a2", "a3", "a4", "b1", "b2");
  ended("a1");
  began("a5");
  expect(excess).toEqual([]);
  began("a6");
  expect([excess, connects()]).toEqual([["a6"], 8]);
});

test("after a gap nothing is assumed, and 0 means no limit", () => {
  const { excess, began, ended, unsure } = setup(4);
  began("a1", "a2", "a3", "a4");
  unsure();
  began("a5", "a6", "a7", "a8");
  ended("a1", "zz");
  expect(excess).toEqual([]);
  const unlimited = setup(0);
  unlimited.began(...Array.from({ length: 1_000 }, (_, n) => `a${n}`));
  expect(unlimited.excess).toEqual([]);
});
