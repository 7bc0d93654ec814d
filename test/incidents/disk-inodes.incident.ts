import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nextOf, setStage, withSmallDisk } from "./stage.ts";

setDefaultTimeout(120_000);

const inodes = 2_000;

test("the disk of the bus has no inodes: it is named, and everything continues once there are some", async () => {
  await using stage = await setStage({
    wrap: withSmallDisk(96, inodes),
    edit({ dir }) {
      const path = join(dir, "bus", "nats-server.conf");
      const text = readFileSync(path, "utf8").replace("jetstream {", "jetstream {\n  max_file_store: 4GB");
      writeFileSync(path, text);
    },
  });
  const { fleet } = stage;
  await stage.join("web-1");
  const store = join(fleet.dir, "bus", "store");
  const filler = join(`/proc/${stage.master().pid}/root`, store, "filler");
  mkdirSync(filler);
  expect(() => {
    for (let i = 0; i <= inodes; i++) writeFileSync(join(filler, `${i}`), "");
  }).toThrow("ENOSPC");
  const words = `the disk of ${store} is full: \\d+ of ${inodes} inodes are free`;
  const seen = await stage.sees({
    status: new RegExp(
      `note: master \\S+ is down: bus-disk: ${words}.*; next: remove files from the disk of`,
    ),
    doctor: new RegExp(`FAIL {2}masters +\\S+ is down: bus-disk: ${words}`),
    log: /"the disk of the bus is full".*"free_files":/,
  });
  const next = `remove files from the disk of ${store}, of which it holds too many: the bus continues by itself`;
  expect(nextOf(seen.doctor, "masters")).toBe(next);
  rmSync(filler, { recursive: true });
  await stage.isWell();
  expect((await fleet.svc("run", "*", "test.ping")).code).toBe(0);
});
