import { watchBusServers } from "../../bus/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";

/** The servers of the bus. They are watched first: servers that are too old keep the storage closed. */
export const busServers = {
  start({ base, connection }: { base: MasterDeps; connection: Connected }) {
    const { keys, jitter, log } = base;
    const { bus, streams, system, connectTo } = connection;
    const watched = watchBusServers({
      ...{ bus, streams, system, connectTo, jitter, log },
      account: keys.mastersAccount,
    });
    return {
      checks: { "bus-servers": watched.check },
      view: { busServers: watched.view },
      stop: watched.stop,
    };
  },
};
