import { expect, test } from "bun:test";
import { classify, longLinesOf } from "./classify.ts";

const known = {
  isName: (text: string) => text === "postgresql",
  isInTree: (line: string) => line === "ServerName example.com",
};
const value = (text: string, name = "a:b") => ({ name, text });

test("ten characters are enough, unless the host shows them anyway", () => {
  expect(
    classify(
      [value("0123456789"), value("012345678", "short"), value("postgresql", "user"), value("42", "pin")],
      known,
    ),
  ).toEqual({
    strong: ["0123456789"],
    weak: ["012345678", "postgresql", "42"],
    weakNames: ["pin", "short", "user"],
  });
});

test("a value of several lines is its long lines, without borders and what a state file has", () => {
  const key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHRl\nshort\n-----END PRIVATE KEY-----\n";
  const file = "ServerName example.com\r\n  SSLKeyPass hunter2hunter2\r\n";
  expect(classify([value(key), value(file)], known)).toEqual({
    ...{ strong: ["MC4CAQAwBQYDK2VwBCIEIHRl", "SSLKeyPass hunter2hunter2"], weak: [], weakNames: [] },
  });
  expect(longLinesOf([value(key), value(file), value("one line of a value")])).toEqual([
    ...["MC4CAQAwBQYDK2VwBCIEIHRl", "ServerName example.com", "SSLKeyPass hunter2hunter2"],
  ]);
  // One line end at the end makes no second line.
  expect(classify([value("0123456789\n")], known).strong).toEqual(["0123456789"]);
  expect(classify([value("\n")], known)).toEqual({ strong: [], weak: [], weakNames: [] });
});
