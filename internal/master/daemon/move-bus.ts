import { resolve } from "node:path";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { firstAsset, streamName } from "../../bus/assets/mod.ts";
import { type Bus, clientCertificate, connectBus, resolveBusCa } from "../../bus/connection/mod.ts";
import { carriedServer, moveToCluster, systemPath } from "../../bus/server/mod.ts";
import { placeOf } from "../../bus/servers/mod.ts";
import { backUpBus, restoreMissing } from "../../bus/storage/mod.ts";
import { loadMasterKeys } from "../keys/mod.ts";
import type { MasterDeps } from "./options.ts";

const connectMs = 5_000;

/** Moves what the embedded bus stored alone to the cluster that it is a server of now; see `svc cluster add`. */
export async function moveBus(
  options: Pick<MasterDeps, "config" | "env" | "clock" | "log" | "signal">,
): Promise<void> {
  const { config, env, clock, signal } = options;
  if (!config.embedded_bus) return;
  const log = options.log.with({ component: "bus" });
  const connect = async <T>(urls: readonly string[], use: (bus: Bus) => Promise<T>): Promise<T> => {
    const bus = await connectBus({
      urls,
      name: "svc-master-move",
      identity: { credentials: loadMasterKeys(config.auth_dir).credentials },
      timeoutMs: connectMs,
      ...defined({
        ca: resolveBusCa({ explicit: config.bus_ca, env, authDir: config.auth_dir }),
        clientCertificate: clientCertificate(config.bus_tls_cert, config.bus_tls_key),
      }),
      clock,
      log,
    });
    try {
      return await use(bus);
    } finally {
      await bus.nats.close();
    }
  };
  await moveToCluster({
    dir: resolve(config.embedded_bus_dir),
    program: config.embedded_bus_path,
    carried: carriedServer(),
    searchPath: `${env.PATH ?? ""}:${systemPath}`,
    movers: {
      save: (url, backup) =>
        connect([url], async (bus) => void (await backUpBus(bus, backup, async () => undefined))),
      restore: (backup, hosts) =>
        connect(urlsOf(config, hosts), (bus) => restoreMissing(bus, backup, streamName(firstAsset))),
    },
    clock,
    log,
    signal,
  });
}

/** Where the other servers of the cluster are: the own one does not run yet. @throws SvcError `conflict` */
function urlsOf(config: MasterDeps["config"], hosts: readonly string[]): string[] {
  const urls = config.bus_advertise_urls.filter((url) => hosts.includes(placeOf(url).host));
  if (urls.length > 0) return urls;
  throw new SvcError("conflict", `bus_advertise_urls names none of the other servers: ${hosts.join(", ")}`);
}
