import { afterAll, beforeAll } from "bun:test";
import { provision } from "../../internal/bus/assets/assets.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "./bus.ts";
import { recordingLog } from "./log.ts";

/**
 * Starts a bus with everything that masters store before the tests of the file that calls this, and ends it after them.
 *
 * @returns the connection of a master; it is not there before the tests begin
 */
export function provisionedBus(): { readonly master: Bus } {
  let server: TestBus | undefined;
  let master: Bus | undefined;
  beforeAll(async () => {
    server = await startBus();
    master = await connectTo(server, "master");
    await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
  });
  afterAll(async () => {
    await master?.nats.close();
    await server?.[Symbol.asyncDispose]();
  });
  return {
    get master() {
      if (master === undefined) throw new Error("the bus of these tests has not started");
      return master;
    },
  };
}
