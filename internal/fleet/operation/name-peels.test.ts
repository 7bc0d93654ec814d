import { expect, test } from "bun:test";
import * as v from "valibot";
import { plain, plainMap, titled } from "../../base/schema.ts";
import { namePeels } from "./name-peels.ts";

const host = titled("Host", v.object({ peel_id: v.string(), labels: v.exactOptional(plainMap) }));

test("encoded ids that an answer declares get their names with dots, wherever they are", () => {
  const schema = v.object({
    host,
    list: v.optional(v.array(host)),
    by: v.record(v.string(), host),
    peel_id: v.string(),
  });
  const one = { peel_id: "web-1_example" };
  const named = { peel: "web-1.example", peel_id: "web-1_example" };
  const answer = { host: one, list: [one, one], by: { peel_id: one }, peel_id: "db-1" };
  expect(namePeels(schema, answer)).toEqual({
    ...{ host: named, list: [named, named], by: { peel_id: named } },
    ...{ peel: "db-1", peel_id: "db-1" },
  });
  expect(namePeels(v.array(host), [one])).toEqual([named]);
});

test("what is not declared stays as it is: data of a function, and a name that is there", () => {
  const schema = v.object({ value: plain, host, own: v.object({ peel: v.string(), peel_id: v.string() }) });
  const answer = {
    value: { peel_id: "a_b" },
    host: { peel_id: "a_b", labels: { peel_id: "c_d" } },
    own: { peel: "x", peel_id: "a_b" },
    later: { peel_id: "e_f" },
  };
  expect(namePeels(schema, answer)).toEqual({
    ...answer,
    host: { peel: "a.b", peel_id: "a_b", labels: { peel_id: "c_d" } },
  });
  expect(namePeels(v.object({ bytes: plain }), { bytes: new Uint8Array(1) })).toEqual({
    bytes: new Uint8Array(1),
  });
});
