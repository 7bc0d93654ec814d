import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf, setStage, withSmallDisk } from "./stage.ts";

setDefaultTimeout(120_000);

const megabytes = 96;

test("the disk of the bus is full: it is named, and everything continues once there is room", async () => {
  await using stage = await setStage({
    wrap: withSmallDisk(megabytes),
    edit({ dir }) {
      const path = join(dir, "bus", "nats-server.conf");
      // What streams may take is reserved from the disk that the server finds.
      const text = readFileSync(path, "utf8").replace("jetstream {", "jetstream {\n  max_file_store: 4GB");
      writeFileSync(path, text);
    },
  });
  const { fleet } = stage;
  const store = join(fleet.dir, "bus", "store");
  const filler = join(`/proc/${stage.master().pid}/root`, store, "filler");
  expect(() => writeFileSync(filler, new Uint8Array((megabytes + 1) * 1024 * 1024))).toThrow("ENOSPC");
  const words = `bus-disk: the disk of ${store} is full: \\d+ KiB of ${megabytes} MiB are free`;
  const seen = await stage.sees({
    status: new RegExp(`note: master \\S+ is down: ${words}.*; next: make room on the disk of ${store}`),
    doctor: new RegExp(`FAIL {2}masters +\\S+ is down: ${words}`),
    readyz: new RegExp(`"bus-disk":\\{"status":"down","message":"the disk of ${store} is full`),
    log: new RegExp(`"the disk of the bus is full".*"directory":"${store}"`),
  });
  expect(seen.doctor).not.toMatch(/^ok +writes/m);
  const next = nextOf(seen.doctor, "masters");
  expect(next).toBe(`make room on the disk of ${store}: the bus continues by itself`);
  rmSync(filler);
  await stage.isWell();
});
