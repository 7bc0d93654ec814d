import { watchBusServers } from "../bus-servers.ts";
import type { MasterDeps } from "../options.ts";
import type { Connected } from "./connect.ts";

/** The servers of the bus. They are watched first: servers that are too old keep the storage closed. */
export const busServers = {
  start({ bus, system, connectTo, keys, jitter, log }: MasterDeps & Connected) {
    const watched = watchBusServers({ bus, system, connectTo, account: keys.mastersAccount, jitter, log });
    return {
      checks: { "bus-servers": watched.check },
      view: { busServers: watched.view },
      stop: watched.stop,
    };
  },
};
