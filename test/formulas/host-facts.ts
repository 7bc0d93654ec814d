import type { Plain } from "../../internal/base/msgpack.ts";

/** Facts of the host that the data was made for: Debian 12. Its id is given where it is asked for. */
export const hostFacts: Readonly<Record<string, Plain>> = {
  ...{ host: "web-1", fqdn: "web-1.example.com", nodename: "web-1" },
  ...{ domain: "example.com", localhost: "web-1.example.com" },
  ...{ os: "Debian", os_family: "Debian", osfullname: "Debian GNU/Linux", osfinger: "Debian-12" },
  ...{ osrelease: "12", osmajorrelease: 12, osrelease_info: [12], oscodename: "bookworm" },
  ...{ lsb_distrib_id: "Debian", lsb_distrib_codename: "bookworm", lsb_distrib_release: "12" },
  ...{ osarch: "amd64", cpuarch: "x86_64", kernel: "Linux", kernelrelease: "6.1.0-18-amd64" },
  ...{ kernelversion: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1", init: "unknown" },
  ...{ num_cpus: 2, mem_total: 2048, swap_total: 0, virtual: "physical", timezone: "UTC" },
  ...{ ipv4: ["127.0.0.1", "192.0.2.10"], ipv6: ["::1"], fqdn_ip4: ["192.0.2.10"], fqdn_ip6: [] },
  ip_interfaces: { lo: ["127.0.0.1", "::1"], eth0: ["192.0.2.10"] },
  ip4_interfaces: { lo: ["127.0.0.1"], eth0: ["192.0.2.10"] },
  ip6_interfaces: { lo: ["::1"], eth0: [] },
  hwaddr_interfaces: { lo: "00:00:00:00:00:00", eth0: "52:54:00:00:00:01" },
  dns: { nameservers: ["192.0.2.53"], search: ["example.com"], domain: "", options: [] },
  ...{ saltversion: "3007.1", saltversioninfo: [3007, 1], pythonversion: [3, 10, 14, "final", 0] },
  ...{ username: "root", groupname: "root", uid: 0, gid: 0, path: "/usr/sbin:/usr/bin:/sbin:/bin" },
};
