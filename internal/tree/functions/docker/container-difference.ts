import type { Plain } from "../../../base/msgpack.ts";
import { difference } from "./difference.ts";
import { type Engine, isJson, type Json } from "./engine.ts";

/** Limits that Docker drops, with a warning, where the kernel has none, by what `/info` says of them. */
const limits: Readonly<Record<string, string>> = {
  Memory: "MemoryLimit",
  CpuShares: "CPUShares",
  CpusetCpus: "CPUSet",
};

/**
 * The fields in which a container is not as wanted. Values of variables and labels can be secrets, so there are only
 * names.
 *
 * @param image the image that its name means now
 * @returns also the limits that this host cannot set; a container is not replaced for them
 */
export async function containerDifference(
  engine: Engine,
  found: Json,
  body: Json,
  image: string | undefined,
): Promise<{ reasons: string[]; unlimited: string[] }> {
  const { Image: _, HostConfig: hostConfig, ...config } = body;
  const now: Json = isJson(found.Config) ? found.Config : {};
  const nowHost: Json = isJson(found.HostConfig) ? found.HostConfig : {};
  const onHost = isJson(hostConfig)
    ? difference(hostConfig, { ...nowHost, Links: linksOf(nowHost.Links) })
    : [];
  const unlimited = onHost.some((name) => Object.hasOwn(limits, name)) ? await missingLimits(engine) : [];
  return {
    reasons: [
      ...(image !== undefined && found.Image !== image ? ["Image"] : []),
      ...difference(config, now),
      ...onHost.filter((name) => !unlimited.includes(name)),
    ],
    unlimited: onHost.filter((name) => unlimited.includes(name)),
  };
}

async function missingLimits(engine: Engine): Promise<string[]> {
  const info = (await engine.get("/info")) ?? {};
  return Object.keys(limits).filter((name) => info[limits[name] ?? ""] === false);
}

/** Docker shows the link `db:database` of the container `web` as `/db:/web/database`. */
function linksOf(value: Plain | undefined): Plain {
  if (!Array.isArray(value)) return [];
  return value.map((each) => String(each).replace(/^\/([^:/]+):\/[^/]+\/(.+)$/, "$1:$2"));
}
