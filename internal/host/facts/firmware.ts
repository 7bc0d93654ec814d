import { isErrno } from "../../base/files/file.ts";
import type { FactTable } from "./fact.ts";
import type { Host } from "./host.ts";

/** The files in /sys/class/dmi/id that are used. */
type DmiField =
  | "bios_date"
  | "bios_vendor"
  | "bios_version"
  | "board_asset_tag"
  | "board_vendor"
  | "chassis_asset_tag"
  | "product_name"
  | "product_serial"
  | "product_uuid"
  | "sys_vendor";

/** A DMI field of the firmware; `undefined` also when only root can read it. */
export function dmi(host: Host, field: DmiField): string | undefined {
  try {
    return host.read(`/sys/class/dmi/id/${field}`)?.trim() || undefined;
  } catch (cause) {
    if (isErrno(cause, "EACCES") || isErrno(cause, "EPERM")) return undefined;
    throw cause;
  }
}

const azureChassis = "7783-7084-3265-9085-8269-3286-77";

/** The cloud provider according to the firmware, with the names of cloud-init. */
function cloudOf(host: Host): string | undefined {
  const vendor = dmi(host, "sys_vendor") ?? "";
  const product = dmi(host, "product_name") ?? "";
  const chassis = dmi(host, "chassis_asset_tag") ?? "";
  const bios = `${dmi(host, "bios_vendor") ?? ""} ${dmi(host, "bios_version") ?? ""}`;
  if (/^amazon/i.test(vendor) || /amazon/i.test(bios)) return "ec2";
  if (/^google/i.test(vendor) || product === "Google Compute Engine") return "gce";
  if (chassis === azureChassis) return "azure";
  if (vendor === "DigitalOcean") return "digitalocean";
  if (vendor === "Hetzner") return "hetzner";
  if (chassis === "OracleCloud.com") return "oracle";
  if (/^alibaba/i.test(vendor)) return "aliyun";
  if (vendor === "Scaleway") return "scaleway";
  if (vendor === "Vultr") return "vultr";
  if (/^(linode|akamai)$/i.test(vendor)) return "akamai";
  if (vendor === "UpCloud") return "upcloud";
  if (vendor === "Exoscale") return "exoscale";
  if (/^openstack/i.test(product) || /^openstack/i.test(vendor) || chassis === "OpenTelekomCloud") {
    return "openstack";
  }
  return undefined;
}

/** The machine as described by its firmware: DMI, or the device tree of a single-board computer. */
export const firmwareFacts: FactTable = {
  manufacturer: (host) => dmi(host, "sys_vendor"),
  productname(host) {
    const board = host.read("/proc/device-tree/model")?.replaceAll("\0", "").trim();
    return dmi(host, "product_name") ?? (board || undefined);
  },
  serialnumber: (host) => dmi(host, "product_serial"),
  uuid: (host) => dmi(host, "product_uuid")?.toLowerCase(),
  biosvendor: (host) => dmi(host, "bios_vendor"),
  biosversion: (host) => dmi(host, "bios_version"),
  biosreleasedate: (host) => dmi(host, "bios_date"),
  efi: (host) => (host.platform === "linux" ? host.exists("/sys/firmware/efi") : undefined),
  cloud: cloudOf,
};
