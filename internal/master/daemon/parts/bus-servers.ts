import { watchBusServers } from "../../bus/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";

/** The servers of the bus. They are watched first: servers that are too old keep the storage closed. */
export const busServers = {
  start({ bus, streams, system, connectTo, keys, jitter, log }: MasterDeps & Connected) {
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
