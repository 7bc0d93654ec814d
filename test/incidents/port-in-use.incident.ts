import { expect, setDefaultTimeout, test } from "bun:test";
import { setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("another program has the port of the listener: the key and the address are named", async () => {
  await using stage = await setStage();
  await stage.stopMaster();
  const { apiPort } = stage.fleet;
  using other = Bun.listen({ hostname: "127.0.0.1", port: apiPort, socket: { data() {} } });
  expect(other.port).toBe(apiPort);
  const words = `svc-master: cannot listen on enroll.addr 127.0.0.1:${apiPort}: `;
  await stage.startMaster({ until: words });
  expect(await stage.master().exited).toBe(1);
  other.stop(true);
  await stage.startMaster();
  await stage.isWell();
});
