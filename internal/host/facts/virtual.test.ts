import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { firmwareFacts } from "./firmware.ts";
import { virtualFacts } from "./virtual.ts";

const denied = () => Object.assign(new Error("permission denied"), { code: "EACCES" });
const dmi = (fields: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [`/sys/class/dmi/id/${name}`, `${text}\n`]),
  );
const guest = { "/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n" };

const collect = async (files: Record<string, string | Error>) => {
  const { facts, problems } = await collectFacts(
    { ...virtualFacts, ...firmwareFacts },
    fixtureHost({ files }),
    manualClock(),
  );
  expect(problems).toEqual([]);
  return facts;
};

test.each<[string, Record<string, string | Error>, Record<string, unknown>]>([
  [
    "a physical server",
    dmi({ sys_vendor: "Dell Inc.", product_name: "PowerEdge R640" }),
    { virtual: "physical" },
  ],
  [
    "KVM",
    { ...guest, ...dmi({ sys_vendor: "QEMU", product_name: "Standard PC (Q35 + ICH9, 2009)" }) },
    { virtual: "kvm" },
  ],
  ["QEMU without acceleration", dmi({ sys_vendor: "QEMU" }), { virtual: "qemu" }],
  [
    "VMware",
    { ...guest, ...dmi({ sys_vendor: "VMware, Inc.", product_name: "VMware20,1" }) },
    { virtual: "VMware" },
  ],
  [
    "VirtualBox",
    { ...guest, ...dmi({ sys_vendor: "innotek GmbH", product_name: "VirtualBox" }) },
    { virtual: "VirtualBox" },
  ],
  [
    "Hyper-V",
    { ...guest, ...dmi({ sys_vendor: "Microsoft Corporation", product_name: "Virtual Machine" }) },
    { virtual: "HyperV" },
  ],
  [
    "a laptop of the same vendor",
    dmi({ sys_vendor: "Microsoft Corporation", product_name: "Surface" }),
    { virtual: "physical" },
  ],
  ["an unknown guest", guest, { virtual: "VM" }],
  [
    "a Xen guest",
    { "/sys/hypervisor/type": "xen\n", "/sys/hypervisor/guest_type": "PV\n" },
    { virtual: "xen", virtual_subtype: "Xen PV DomU" },
  ],
  [
    "the host of Xen guests",
    { "/proc/xen/capabilities": "control_d\n", "/sys/hypervisor/type": "xen\n" },
    { virtual: "xen", virtual_subtype: "Xen Dom0" },
  ],
  ["Docker", { ...guest, "/.dockerenv": "" }, { virtual: "container", virtual_subtype: "Docker" }],
  ["Podman", { "/run/.containerenv": "" }, { virtual: "container", virtual_subtype: "Podman" }],
  ["LXC", { "/proc/1/environ": "A=1\0container=lxc\0" }, { virtual: "container", virtual_subtype: "LXC" }],
  [
    "systemd-nspawn",
    { "/run/systemd/container": "systemd-nspawn\n" },
    { virtual: "container", virtual_subtype: "systemd-nspawn" },
  ],
  [
    "a pod, as another user than root",
    { "/proc/1/environ": denied(), "/proc/1/cgroup": "0::/kubepods.slice/kubepods-besteffort.slice/x\n" },
    { virtual: "container", virtual_subtype: "Kubernetes" },
  ],
  [
    "WSL",
    { "/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n" },
    { virtual: "container", virtual_subtype: "WSL" },
  ],
  [
    "EC2",
    { ...guest, ...dmi({ sys_vendor: "Amazon EC2", product_name: "m5.large", bios_vendor: "Amazon EC2" }) },
    { virtual: "Nitro", cloud: "ec2" },
  ],
  [
    "EC2 without a hypervisor",
    dmi({ sys_vendor: "Amazon EC2", product_name: "m5.metal" }),
    { virtual: "physical", cloud: "ec2" },
  ],
  [
    "EC2 on Xen",
    { ...guest, ...dmi({ sys_vendor: "Xen", product_name: "HVM domU", bios_version: "4.11.amazon" }) },
    { virtual: "xen", cloud: "ec2" },
  ],
  [
    "Google Compute Engine",
    { ...guest, ...dmi({ sys_vendor: "Google", product_name: "Google Compute Engine" }) },
    { virtual: "gce", cloud: "gce" },
  ],
  [
    "Azure",
    {
      ...guest,
      ...dmi({
        sys_vendor: "Microsoft Corporation",
        product_name: "Virtual Machine",
        chassis_asset_tag: "7783-7084-3265-9085-8269-3286-77",
      }),
    },
    { virtual: "HyperV", cloud: "azure" },
  ],
  [
    "DigitalOcean",
    { ...guest, ...dmi({ sys_vendor: "DigitalOcean", product_name: "Droplet" }) },
    { virtual: "kvm", cloud: "digitalocean" },
  ],
  [
    "Hetzner",
    { ...guest, ...dmi({ sys_vendor: "Hetzner", product_name: "vServer" }) },
    { virtual: "kvm", cloud: "hetzner" },
  ],
  [
    "OpenStack",
    { ...guest, ...dmi({ sys_vendor: "OpenStack Foundation", product_name: "OpenStack Nova" }) },
    { virtual: "kvm", cloud: "openstack" },
  ],
])("%s", async (_, files, expected) => {
  const { virtual, virtual_subtype, cloud } = await collect(files);
  expect({ virtual, virtual_subtype, cloud }).toEqual({
    virtual: undefined,
    virtual_subtype: undefined,
    cloud: undefined,
    ...expected,
  } as never);
});

test("values that only root can read are absent for others, without an error", async () => {
  const facts = await collect({
    ...dmi({
      sys_vendor: "Dell Inc.",
      product_name: "R640",
      bios_vendor: "Dell",
      bios_version: "2.1",
      bios_date: "01/02/2024",
    }),
    "/sys/class/dmi/id/product_serial": denied(),
    "/sys/class/dmi/id/product_uuid": denied(),
    "/sys/firmware/efi/systab": "",
  });
  expect(facts).toEqual({
    virtual: "physical",
    manufacturer: "Dell Inc.",
    productname: "R640",
    biosvendor: "Dell",
    biosversion: "2.1",
    biosreleasedate: "01/02/2024",
    efi: true,
  });
});

test("a single-board computer is described by its device tree", async () => {
  expect(await collect({ "/proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0" })).toMatchObject({
    productname: "Raspberry Pi 4 Model B Rev 1.4",
    virtual: "physical",
  });
});
