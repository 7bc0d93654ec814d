import { expect, test } from "bun:test";
import { acknowledgesEarly } from "./sync.ts";

const plain = 'jetstream {\n  store_dir: "x"\n}\n';
const synced = 'jetstream {\n  store_dir: "x"\n  sync_interval: always\n}\n';

test("a server that could wait for the disk and does not is noticed", () => {
  expect(acknowledgesEarly(plain, "2.10.27")).toBe(true);
  expect(acknowledgesEarly(synced, "2.10.27")).toBe(false);
  expect(acknowledgesEarly(plain.replace("jetstream", "# sync_interval: always\njetstream"), "2.15.1")).toBe(
    true,
  );
});

test("a server that does not know the setting is not started with it, and an older fleet starts as before", () => {
  expect(acknowledgesEarly(plain, "2.9.10")).toBe(false);
  expect(() => acknowledgesEarly(synced, "2.9.10")).toThrow(
    "nats-server.conf has sync_interval, which nats-server 2.9.10 does not know: run 2.10.0 or newer, or remove that line",
  );
});
