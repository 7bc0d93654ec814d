import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { localUsers } from "../../host/system/accounts/mod.ts";
import { packagesOf } from "../../host/system/packages/mod.ts";
import { servicesOf } from "../../host/system/services/mod.ts";
import { systemOf } from "../../host/system/system.ts";

type HostCall = Parameters<typeof systemOf>[0];

/** What this host shows by itself, and what therefore is masked nowhere: its facts, users, services and packages. */
export async function namesOfHost(
  call: HostCall,
  facts: { readonly [name: string]: Plain },
): Promise<Set<string>> {
  const system = systemOf(call);
  const names = new Set(textsIn({ ...facts }));
  for (const user of attempt(() => [...localUsers(system).keys()], [])) names.add(user);
  for (const service of attempt(() => [...servicesOf(system).names()], [])) names.add(service);
  try {
    for (const name of (await packagesOf(system).installed()).keys()) names.add(name);
  } catch {
    // A host without a package manager that is known here.
  }
  return names;
}

function textsIn(value: Plain): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number" || typeof value === "bigint") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isMap(value) ? Object.values(value).flatMap((inner) => textsIn(inner as Plain)) : [];
}
